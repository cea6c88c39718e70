//go:build linux || darwin

package pgembed

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// guardScript runs a command and passes it the signals named on its input, one a line. The end of the input, which
// comes when the process at the other end of the pipe dies, is a SIGINT: fast shutdown. Background jobs ignore SIGINT
// and SIGQUIT at first, but postgres sets its own handlers.
const guardScript = `exec 4<&0
"$@" 4<&- </dev/null & p=$!
{ while read -r s <&4; do kill -"$s" $p; done; kill -INT $p; } 3<&- 2>/dev/null & r=$!
exec 4<&-
wait $p; c=$?
kill -KILL $r 2>/dev/null
exit $c`

// process is a child that dies with this process.
type process struct {
	cmd   *exec.Cmd
	guard io.WriteCloser // takes signal names instead of the process, where the kernel has no Pdeathsig
	done  chan struct{}  // closed when the child has ended and was reaped
	err   error          // how it ended; read it after done
}

// launch starts cmd, guarded by the kernel or by a shell that watches a pipe.
func launch(cmd *exec.Cmd, guarded bool) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	if guarded {
		cmd.Args = append([]string{"sh", "-c", guardScript, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		p.guard = pipe
	} else {
		setPdeathsig(cmd.SysProcAttr, syscall.SIGINT)
	}
	started := make(chan error, 1)
	go p.run(started)
	return p, <-started
}

// run starts the child and waits for it. Pdeathsig fires when the thread that forked ends, so it keeps its thread.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	p.err = p.cmd.Start()
	started <- p.err
	if p.err == nil {
		p.err = p.cmd.Wait()
	}
}

// signal is best effort: the child may have ended by itself, and whoever sends waits on done.
func (p *process) signal(sig syscall.Signal) {
	if p.guard == nil {
		_ = p.cmd.Process.Signal(sig)
		return
	}
	name := map[syscall.Signal]string{syscall.SIGINT: "INT\n", syscall.SIGQUIT: "QUIT\n", syscall.SIGKILL: "KILL\n"}[sig]
	_, _ = io.WriteString(p.guard, name)
}

// stage is one attempt at ending a process, and how long it may take.
type stage struct {
	sig  syscall.Signal
	wait time.Duration
}

// end sends each signal in turn until the child is gone.
func (p *process) end(stages ...stage) error {
	for _, s := range stages {
		p.signal(s.sig)
		timer := time.NewTimer(s.wait)
		select {
		case <-p.done:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
	return errors.New("pgembed: postgres did not end on SIGKILL")
}

// exited is the error of a process that ended, or nil while it lives.
func (p *process) exited() error {
	select {
	case <-p.done:
		if p.err != nil {
			return p.err
		}
		return errors.New("the process ended")
	default:
		return nil
	}
}

// command prepares a PostgreSQL program: under the account, in a process group of its own (Ctrl-C in a terminal must
// reach this process first, so that it can drain), and with no more of this process's environment than it needs.
func command(ctx context.Context, f folder, acct *account, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = string(f)
	cmd.Env = []string{"LC_ALL=C", "HOME=" + string(f)}
	for _, key := range []string{"PATH", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(key); ok {
			cmd.Env = append(cmd.Env, key+"="+v)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: acct.credential(), Setpgid: true}
	return cmd
}
