//go:build planted

package main

import (
	"os"
	"testing"
	"time"
)

// TestMain makes this test binary a process of the soak, which starts it again.
func TestMain(m *testing.M) {
	if isProgram(os.Args) {
		program()
	}
	os.Exit(m.Run())
}

// A short soak finds nothing, unless a fault is planted.
func TestAShortSoakIsClean(t *testing.T) {
	t.Parallel()
	if err := execute(t.Context(), options{length: 15 * time.Second, seed: 1, perSecond: 250, quiet: 15 * time.Second}); err != nil {
		t.Error(err)
	}
}
