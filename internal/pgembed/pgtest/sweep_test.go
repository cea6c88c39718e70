package pgtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestSweepRemovesOnlyWhatTheDeadLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, dead := fmt.Sprintf("fgtest-%d-1", os.Getpid()), fmt.Sprintf("fgtest-%d-2", deadPID(t))
	for _, name := range []string{ours, dead, "fgtest-cache-0", "fgtest-0-1", "fgtest--1-3", "fgtest-x-1", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Sweep(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"fgtest--1-3", "fgtest-0-1", ours, "fgtest-cache-0", "fgtest-x-1", "other"}
	if diff := cmp.Diff(asSet(want), asSet(left)); diff != "" {
		t.Errorf("left after the sweep (-want +got):\n%s", diff)
	}
}

func asSet(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}
