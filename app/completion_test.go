package app_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// completions asks bash, with the program's own script, what may stand after a line. A line that ends in a space asks for a
// new word.
func completions(t *testing.T, script, line string) []string {
	t.Helper()
	words := strings.Fields(line)
	if strings.HasSuffix(line, " ") {
		words = append(words, "")
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + w + "'"
	}
	shell := exec.CommandContext(t.Context(), "bash", "--norc", "-c", script+
		"\nCOMP_WORDS=("+strings.Join(quoted, " ")+"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _flowgate; printf '%s\\n' \"${COMPREPLY[@]}\"")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Fields(string(out))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	script, _, err := runWith(t, nil, "completion", "bash")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"flowgate ru":                       "run",
		"flowgate run re":                   "retry",
		"flowgate run start w --la":         "--label",
		"flowgate run start --run x --of":   "--of-version",
		"flowgate signal send r s --idem":   "--idempotency-key",
		"flowgate deadletter dis":           "discard",
		"flowgate completion f":             "fish",
		"flowgate --he":                     "--help",
		"flowgate hook list run --older":    "--older-than",
		"flowgate dev --listen x --data-d":  "--data-dir",
		"flowgate help ":                    "config --help",
		"flowgate nothing ":                 "",
		"flowgate run get 'x --nothing-els": "",
	} {
		got := completions(t, script, strings.ReplaceAll(line, "'", ""))
		if want == "" && slices.Contains(got, "start") || want != "" && strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", line, got, want)
		}
	}
	for shell, parts := range map[string][]string{
		"zsh":  {"#compdef flowgate", "bashcompinit", "complete -o default -F _flowgate flowgate"},
		"fish": {"complete -c flowgate", `__flowgate_at \'run start\'`, "-l of-version", `gateway\'s answer`},
	} {
		script, _, err := runWith(t, nil, "completion", shell)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(script, part) {
				t.Errorf("%s: no %s in it", shell, part)
			}
		}
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(script)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", shell, err, out)
			}
		}
	}
}
