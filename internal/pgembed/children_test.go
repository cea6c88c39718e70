//go:build linux || darwin

package pgembed

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"kernel": nil, "guarded": {childGuarded + "=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			parent := spawn(t, dir, env...)
			if got := parent.says(t); got != "started" {
				t.Fatalf("child said %q, want started", got)
			}
			if free, err := tryLock(folder(dir).lock()); free != nil || err != nil {
				t.Fatalf("lock %v, %v: the server does not hold it", free, err)
			}
			if err := parent.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.cmd.Wait() // reports the kill
			gone(t, dir)
			if _, err := os.Stat(folder(dir).pidfile()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("postmaster.pid: %v, want none after a clean shutdown", err)
			}
		})
	}
}

func TestStartersAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var all []*starter
	for range 6 {
		all = append(all, spawn(t, dir))
	}
	said := map[string]int{}
	var owner *starter
	for _, s := range all {
		got := s.says(t)
		said[got]++
		if got == "started" {
			owner = s
		}
	}
	if said["started"] != 1 || said["attached"] != 5 {
		t.Fatalf("starters said %v, want 1 started and 5 attached", said)
	}
	for _, s := range all {
		if s != owner {
			s.leave(t)
		}
	}
	if got := query(t, folder(dir).url(), "select 1::text"); got != "1" {
		t.Errorf("after the guests left the server says %q", got)
	}
	owner.leave(t)
	gone(t, dir)
}

// leave has a child stop its server and end.
func (s *starter) leave(t *testing.T) {
	t.Helper()
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
