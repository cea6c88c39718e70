package pgembed

import (
	"testing"

	"golang.org/x/sys/unix"
)

// zombie is the process ID of a program that ended and that nobody reaped yet.
func zombie(t *testing.T) int {
	cmd, stdin := asServer(t, "cat")
	t.Cleanup(func() { _ = cmd.Wait() })
	_ = stdin.Close()
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// otherServer is the process ID of a living PostgreSQL of another folder.
func otherServer(t *testing.T) int {
	return start(t, Config{Dir: newDir(t)}).folder.pid()
}
