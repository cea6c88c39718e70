package flowgate_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// newcomer knows the program's own help and nothing else.
type newcomer struct {
	t   *testing.T
	dir string // with the program
	url string
}

// TestNewcomer goes from nothing to an approved hook, and from a run that is stuck to its cause and on, by the lines that
// flowgate --help and the commands themselves show.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	n := &newcomer{t: t, dir: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(n.dir, "flowgate"), "./cmd/flowgate")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n.dev()
	help := n.run("flowgate --help")
	_, tour, _ := strings.Cut(help, "A first tour")
	tour, stuck, _ := strings.Cut(tour, "A run that does not go on")
	first, next := commandsIn(tour), commandsIn(stuck)
	if len(first) != 5 || len(next) != 3 {
		t.Fatalf("%d and %d commands in\n%s", len(first), len(next), help)
	}
	last := ""
	for _, line := range first {
		last = n.run(line)
	}
	if !shows(last, "status…completed…output…approved…ada") {
		t.Errorf("the tour ends with\n%s", last)
	}

	n.run(`flowgate run start payment.checkout --run order-7 -d '{"order_id":"7"}'`)
	refused, code := n.try(`flowgate signal send order-7 payment.capture -d '{}'`)
	if code != 2 || !shows(refused, "signal-not-declared") {
		t.Errorf("a misspelt signal: exit code %d\n%s", code, refused)
	}
	if all := n.run(next[0]); !shows(all, "order-7…payment.checkout…running") {
		t.Errorf("%s\n%s", next[0], all)
	}
	cause := n.run(strings.Replace(next[1], "RUN", "order-7", 1))
	if !shows(cause, "order-7…it waits for…signal…payment.captured…nearly right…payment.capture…payment.captured") {
		t.Errorf("%s\n%s", next[1], cause)
	}
	if takes := n.run(strings.Replace(next[2], "NAME", "payment.checkout", 1)); !shows(takes, "payment.captured…takes…capture_id") {
		t.Errorf("%s\n%s", next[2], takes)
	}
	_, advice, _ := strings.Cut(cause, "what you can do")
	help1 := commandsIn(advice)
	if len(help1) != 1 {
		t.Fatalf("advice %q", advice)
	}
	n.run(strings.Replace(help1[0], "JSON", `'{"capture_id":"c-1"}'`, 1))
	if end := n.run("flowgate run get order-7 --wait"); !shows(end, "completed…captured…c-1") {
		t.Errorf("the order ends with\n%s", end)
	}
}

// commandsIn are the lines of a text that are commands, without the notes behind them.
func commandsIn(text string) []string {
	var found []string
	for _, line := range strings.Split(text, "\n") {
		if command, is := strings.CutPrefix(line, "  flowgate "); is {
			command, _, _ = strings.Cut(command, "  # ")
			found = append(found, "flowgate "+command)
		}
	}
	return found
}

var whereItIs = regexp.MustCompile(`callbacks and API at (\S+),`)

// dev starts flowgate dev, on free ports and with a folder of its own, until the test ends.
func (n *newcomer) dev() {
	n.t.Helper()
	data, err := os.MkdirTemp("", "fgnew-") // for root PostgreSQL runs under another account, which t.TempDir shuts out
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = os.RemoveAll(data) })
	if err := os.Chmod(data, 0o755); err != nil {
		n.t.Fatal(err)
	}
	dev := exec.Command(filepath.Join(n.dir, "flowgate"), "dev", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--data-dir", data)
	var log bytes.Buffer
	dev.Stderr = &log
	out, err := dev.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := dev.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = dev.Process.Signal(os.Interrupt)
		if err := dev.Wait(); err != nil {
			n.t.Errorf("dev: %v\n%s", err, log.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if where := whereItIs.FindStringSubmatch(lines.Text()); where != nil {
			n.url = where[1]
			break
		}
	}
	if n.url == "" {
		n.t.Fatal("dev does not say where it is")
	}
	go func() { // its tour has nobody who reads it; the pipe ends with the process
		for lines.Scan() {
			continue
		}
	}()
}

// try runs a line in a shell and returns all that it prints.
func (n *newcomer) try(line string) (string, int) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", line)
	shell.Env = []string{"PATH=" + n.dir + ":" + os.Getenv("PATH"), "FLOWGATE_URL=" + n.url}
	out, err := shell.CombinedOutput()
	if shell.ProcessState == nil {
		n.t.Fatalf("%s: %v", line, err)
	}
	return string(out), shell.ProcessState.ExitCode()
}

// run runs a line until it goes well: a person takes longer than a run does to open its hook.
func (n *newcomer) run(line string) string {
	n.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		out, code := n.try(line)
		if code == 0 {
			return out
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%s\nexit code %d\n%s", line, code, out)
		}
	}
}
