package app

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/tokens"
)

// Two processes that start on one folder at once must not end up with different keys.
func TestKeptKeysAreMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	const processes = 16
	checks := make([][]tokens.KeyCheck, processes)
	errs := make([]error, processes)
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			var ring *tokens.Keyring
			if ring, errs[i] = keptKeys(dir); errs[i] == nil {
				checks[i] = ring.Checks()
			}
		})
	}
	all.Wait()
	for i := range processes {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if diff := cmp.Diff(checks[0], checks[i]); diff != "" {
			t.Errorf("process %d has other keys: %s", i, diff)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Fatalf("%v, %v: want the one file", left, err)
	}
	st, err := left[0].Info()
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: want 0600", st.Mode(), err)
	}
}

func TestNewKeysDiffer(t *testing.T) {
	t.Parallel()
	one, err := keptKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	two, err := keptKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range one.Checks() {
		if d := two.Checks()[i]; c.ID == d.ID || c.Check == d.Check {
			t.Errorf("key %d is the same in two folders", i)
		}
	}
}

func TestKeptKeysRefuse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode os.FileMode
		text string
		says string
	}{
		"what others may read": {0o640, settingMintKeys + "=" + newKey() + "\n" + settingDigestKeys + "=" + newKey(), "chmod 600"},
		"half of a file":       {0o600, settingMintKeys + "=" + newKey() + "\n", settingDigestKeys},
		"rubbish":              {0o600, "\x00\x01", settingMintKeys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, keyFile)
			if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := keptKeys(dir); err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want it to name %s and to say %q", err, path, tt.says)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != tt.text {
				t.Errorf("the file was changed to %q, %v", text, err)
			}
		})
	}
}
