//go:build planted

package planted

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every planted fault is caught by its test, which passes without it in the normal run of the tests.
func TestEveryPlantedFaultIsCaught(t *testing.T) {
	all, root := load(t)
	for _, f := range all {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			broken, err := f.Apply(root)
			if err != nil {
				t.Fatal(err)
			}
			out, failed := run(t, f, root, overlay(t, broken))
			switch {
			case !failed:
				t.Errorf("not caught: %s\n%s", f.Says, f.Run)
			case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") || !strings.Contains(out, "FAIL"):
				t.Errorf("does not compile, or is no test:\n%s", out)
			default:
				t.Logf("caught: %s", f.Says)
			}
		})
	}
}

// overlay is the file by which the compiler reads the broken files in place of the program's.
func overlay(t *testing.T, broken map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	replace := map[string]string{}
	for path, text := range broken {
		at := filepath.Join(folder, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = at
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(name, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// run runs the fault's command. The flag is in the environment, so that what the test compiles is broken too.
func run(t *testing.T, f Fault, root, overlay string) (output string, failed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", f.Run)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}
