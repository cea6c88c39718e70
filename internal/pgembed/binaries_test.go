//go:build linux || darwin

package pgembed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// script writes a program.
func script(t *testing.T, path, text string) {
	t.Helper()
	// A program that another test starts meanwhile would hold the file open for a moment, and it could not be run then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// fakeBin is a folder of programs that only know their version.
func fakeBin(t *testing.T, version string) string {
	t.Helper()
	dir := newDir(t)
	script(t, filepath.Join(dir, "postgres"), fmt.Sprintf("echo 'postgres (PostgreSQL) %s'", version))
	script(t, filepath.Join(dir, "initdb"), "exit 1")
	return dir
}

// alone runs the rest of a test on a machine whose only programs are in path. It forbids t.Parallel.
func alone(t *testing.T, path string, places ...string) {
	t.Helper()
	t.Setenv("PATH", path)
	usual := installed
	t.Cleanup(func() { installed = usual })
	installed = places
}

func TestFindBinPrefersPathThenTheNewest(t *testing.T) {
	base := filepath.Join(newDir(t), "of-40-kinds") // a number that is no version
	place := func(name, version string) string {
		dir := filepath.Join(base, name, "bin")
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fakeBin(t, version), dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	place("9.6", "9.6.24")
	place("14", "14.1")
	newest := place("17", "17.10 (Debian 17.10-1)")
	empty := newDir(t)
	alone(t, empty, filepath.Join(base, "*", "bin"))
	if got, err := FindBin(""); err != nil || got != newest {
		t.Errorf("found %s, %v, want %s", got, err, newest)
	}

	onPath := newDir(t)
	if err := os.Symlink(filepath.Join(base, "14", "bin", "postgres"), filepath.Join(onPath, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", onPath)
	if got, err := FindBin(""); err != nil || got != filepath.Join(base, "14", "bin") {
		t.Errorf("through a link on PATH found %s, %v", got, err)
	}

	asked := newDir(t)
	script(t, filepath.Join(asked, "pg_config"), "echo "+filepath.Join(base, "14", "bin"))
	t.Setenv("PATH", asked)
	if got, err := FindBin(""); err != nil || got != filepath.Join(base, "14", "bin") {
		t.Errorf("through pg_config found %s, %v", got, err)
	}
}

func TestFindBinPassesOverAWrapperWithoutInitdb(t *testing.T) {
	onPath := newDir(t)
	script(t, filepath.Join(onPath, "postgres"), "echo 'postgres (PostgreSQL) 16.1'")
	whole := fakeBin(t, "15.2")
	alone(t, onPath, whole)
	if got, err := FindBin(""); err != nil || got != whole {
		t.Errorf("found %s, %v, want %s", got, err, whole)
	}
}

func TestNoBinaries(t *testing.T) {
	old, empty := fakeBin(t, "11.22"), newDir(t)
	alone(t, empty, old, "/nowhere/*/bin")
	_, err := Binaries(t.Context(), newDir(t))
	var none *NoBinariesError
	if !errors.As(err, &none) {
		t.Fatalf("error %v, want *NoBinariesError", err)
	}
	for _, want := range []string{
		old + " (version 11 is older than 14)", "PATH", "pg_config --bindir", "/nowhere/*/bin",
		"no npm to fetch PostgreSQL with", "apt-get install postgresql", "brew install postgresql", "install Node.js",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if none.Err == nil || !errors.Is(err, none.Err) {
		t.Error("the reason of the fetch is not wrapped")
	}
}

func TestFindBinTakesOnlyTheExplicitFolder(t *testing.T) {
	t.Parallel()
	empty := newDir(t)
	_, err := FindBin(empty)
	var none *NoBinariesError
	if !errors.As(err, &none) || len(none.Looked) != 1 || !strings.HasPrefix(none.Looked[0], empty) {
		t.Errorf("error %v, want *NoBinariesError that names only %s", err, empty)
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/somewhere/state")
	want := "/somewhere/state/flowgate"
	if os.Geteuid() == 0 {
		want = "/var/lib/flowgate"
	}
	if got := DefaultDir(); got != want {
		t.Errorf("DefaultDir() = %s, want %s", got, want)
	}
}
