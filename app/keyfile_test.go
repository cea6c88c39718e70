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
			var k kept
			if k, errs[i] = keptKeys(dir); errs[i] == nil {
				checks[i] = append(k.ring.Checks(), k.sign.Checks()...)
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

// A file of before there were keys that sign gets one key, whoever comes first, and keeps the others.
func TestKeptKeysOfBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := settingMintKeys + "=" + newKey() + "\n" + settingDigestKeys + "=" + newKey()
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	const processes = 16
	ids := make([]string, processes)
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			k, err := keptKeys(dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i], _ = k.sign.Current()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("processes have %q and %q", id, ids[0])
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil || !strings.HasPrefix(string(after), before+"\n"+settingSignKeys+"=") || strings.Count(string(after), settingSignKeys) != 1 {
		t.Errorf("%v: the file has other lines than those of before and one more", err)
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
	checks := func(k kept) []tokens.KeyCheck { return append(k.ring.Checks(), k.sign.Checks()...) }
	for i, c := range checks(one) {
		if d := checks(two)[i]; c.ID == d.ID || c.Check == d.Check {
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
