package flowgate_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
)

// TestREADME_console runs every command that the README shows, in order and in one shell, against dev mode, and compares
// the answers: what stands between two "…" must be there in that order; times, tokens and addresses may differ.
func TestREADME_console(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the README's commands need curl, which is not installed")
	}
	i, err := app.Start(t.Context(), app.Local{Registrations: app.Examples(workflows.Each)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := consoleSteps(string(text))
	if len(steps) < 9 {
		t.Fatalf("%d commands found", len(steps))
	}
	address, programs := strings.TrimPrefix(i.URL(), "http://"), program(t)
	outputs := runSteps(t, address, programs, steps)
	for n, step := range steps {
		if strings.HasPrefix(step.command, "flowgate run explain") { // what was refused is known there a moment later
			for end := time.Now().Add(20 * time.Second); !shows(outputs[n], step.answer) && time.Now().Before(end); {
				outputs[n] = runSteps(t, address, programs, []consoleStep{step})[0]
			}
		}
		if !shows(outputs[n], step.answer) {
			t.Errorf("%s\nprinted\n%s\nthe README shows\n%s", step.command, outputs[n], step.answer)
		}
	}
}

type consoleStep struct{ command, answer string }

// consoleSteps reads the blocks marked console: a line after "$ " and its indented continuations are a command, the rest
// is what it prints.
func consoleSteps(text string) []consoleStep {
	var steps []consoleStep
	for _, block := range strings.Split(text, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			switch last := len(steps) - 1; {
			case strings.HasPrefix(line, "$ "):
				steps = append(steps, consoleStep{command: line[2:]})
			case strings.HasPrefix(line, "    ") && steps[last].answer == "":
				steps[last].command += "\n" + line
			default:
				steps[last].answer = strings.TrimPrefix(steps[last].answer+"\n"+line, "\n")
			}
		}
	}
	return steps
}

const stepEnd = "--- end of step ---"

// program builds the command and returns its folder.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./cmd/flowgate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func runSteps(t *testing.T, address, programs string, steps []consoleStep) []string {
	t.Helper()
	var script strings.Builder
	for _, s := range steps {
		script.WriteString(strings.ReplaceAll(s.command, "127.0.0.1:8080", address) + "\necho\necho '" + stepEnd + "'\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash")
	shell.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "FLOWGATE_URL=http://"+address)
	shell.Stdin = strings.NewReader(script.String())
	var failed bytes.Buffer
	shell.Stderr = &failed
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, failed.String())
	}
	return strings.Split(string(out), stepEnd)
}

var volatile = regexp.MustCompile(`127\.0\.0\.1:\d+|\d{4}-\d\d-\d\dT[0-9:.]+Z|fhk_[0-9A-Za-z]{49}`)

func shows(output, answer string) bool {
	output = volatile.ReplaceAllString(output, "_")
	for _, part := range strings.Split(volatile.ReplaceAllString(answer, "_"), "…") {
		at := strings.Index(output, strings.TrimSpace(part))
		if at < 0 {
			return false
		}
		output = output[at:]
	}
	return true
}
