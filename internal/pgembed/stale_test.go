//go:build linux || darwin

package pgembed

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// asServer starts a program under the account of the server: to a process of another account PostgreSQL gives way.
func asServer(t *testing.T, name string) (*exec.Cmd, io.Closer) {
	t.Helper()
	acct, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: acct.credential()}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin
}

// leaveBehind makes the folder look as if the server of one process ID had been killed.
func leaveBehind(t *testing.T, dir string, pid int) {
	t.Helper()
	f := folder(dir)
	for path, text := range map[string]string{
		f.pidfile():          fmt.Sprintf("%d\n%s\n1700000000\n5432\n%s\n\n  9999999         0\nready   \n", pid, f.data(), f.sock()),
		f.socket() + ".lock": fmt.Sprintf("%d\n%s\n1700000000\n5432\n%s\n\n", pid, f.data(), f.sock()),
		f.socket():           "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		acct, err := unprivileged()
		if err != nil {
			t.Fatal(err)
		}
		if err := acct.own(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStalePIDFile(t *testing.T) {
	t.Parallel()
	for name, pid := range map[string]func(*testing.T) int{
		"dead process": func(t *testing.T) int {
			cmd, stdin := asServer(t, "cat")
			_ = stdin.Close()
			_ = cmd.Wait()
			return cmd.Process.Pid
		},
		"another program": func(t *testing.T) int {
			cmd, stdin := asServer(t, "cat")
			t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
			return cmd.Process.Pid
		},
		"a zombie":               zombie,
		"a PostgreSQL elsewhere": otherServer,
		"nonsense":               func(*testing.T) int { return -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			first := start(t, Config{Dir: dir})
			query(t, first.URL(), "create table kept as select 3 as n")
			if err := first.Stop(); err != nil {
				t.Fatal(err)
			}
			leaveBehind(t, dir, pid(t))
			s := start(t, Config{Dir: dir})
			if s.Attached() {
				t.Fatal("attached to a dead server")
			}
			if got := query(t, s.URL(), "select n::text from kept"); got != "3" {
				t.Errorf("kept %q, want 3", got)
			}
		})
	}
}

// A server that somebody started by hand on the folder holds no lock of ours, and its lock file must stay.
func TestForeignServerIsNotDisturbed(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Dir: newDir(t)})
	if !s.folder.foreign() {
		t.Error("the living server of the folder is not recognised by its postmaster.pid")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if s.folder.foreign() {
		t.Error("a stopped server counts as living")
	}
}
