//go:build linux || darwin

package pgembed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// How long a server may take before Start gives up on it, and each way of ending it before the next is tried.
const (
	startWithin  = time.Minute // a crash recovery on a loaded machine is the slow case
	attachWithin = time.Minute // the other process may be at its first start
	stopFast     = 10 * time.Second
	stopAtOnce   = 5 * time.Second
)

// Server is a running private PostgreSQL.
type Server struct {
	folder folder
	proc   *process // nil when attached
}

// Start brings up a server on cfg.Dir and returns once it takes sessions, or attaches to the one already running there.
// Processes that start on one folder at once get one server between them. The server ends when the process that started
// it ends; the data stay, and the next Start finds them. ctx bounds the start, not the life of the server.
//
// It returns a *NoBinariesError when the machine has no PostgreSQL, and an error that wraps fs.ErrPermission when this
// process is root and the account PostgreSQL runs under cannot enter a folder. Root's server runs under the account
// postgres, or nobody.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	bin, err := findBin(ctx, cfg.BinDir)
	if err != nil {
		return nil, err
	}
	acct, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if err := acct.reach(bin); err != nil {
		return nil, err
	}
	f, err := openFolder(cfg.Dir, acct)
	if err != nil {
		return nil, err
	}
	lock, err := f.attach(ctx)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return &Server{folder: f}, nil
	}
	defer lock.Close() // the server has inherited it
	if err := f.clearStale(); err != nil {
		return nil, err
	}
	if err := f.prepare(ctx, cfg, bin, acct); err != nil {
		return nil, err
	}
	proc, err := f.serve(ctx, cfg, bin, acct, lock)
	if err != nil {
		return nil, err
	}
	return &Server{folder: f, proc: proc}, nil
}

// attach returns nil when a server answers in the folder, or the folder's lock when it is free. It waits for a process
// that is making, starting or stopping a server there.
func (f folder) attach(ctx context.Context) (lock *os.File, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attachWithin,
		fmt.Errorf("pgembed: another process holds %s, but no server took a session there within %s", f, attachWithin))
	defer cancel()
	if lock, err = f.free(); lock != nil || err != nil {
		return lock, err
	}
	var failed error
	err = ready(ctx, f.socket(), func() error {
		if lock, failed = f.free(); failed != nil {
			return failed
		}
		if lock != nil {
			return os.ErrClosed // ends the wait: the folder became free
		}
		return nil
	})
	if lock != nil {
		return lock, nil
	}
	return nil, err
}

// free takes the folder's lock, or returns nil while a server is or may be there. The lock says it of ours,
// postmaster.pid of one that was started by hand.
func (f folder) free() (*os.File, error) {
	lock, err := tryLock(f.lock())
	if lock != nil && f.foreign() {
		return nil, lock.Close()
	}
	return lock, err
}

// serve runs postgres until it takes sessions.
func (f folder) serve(ctx context.Context, cfg Config, bin string, acct *account, lock *os.File) (*process, error) {
	log, err := openLog(f.logfile())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	from := log.size
	cmd := command(context.WithoutCancel(ctx), f, acct, filepath.Join(bin, "postgres"), f.settings(cfg)...)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	cmd.ExtraFiles = []*os.File{lock} // held by every process of the server: free means that none is left
	proc, err := launch(cmd, needsGuard || cfg.guarded)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("no session within %s", startWithin))
	defer cancel()
	if err := ready(ctx, f.socket(), proc.exited); err != nil {
		_ = proc.end(stage{syscall.SIGQUIT, stopAtOnce}, stage{syscall.SIGKILL, stopAtOnce})
		return nil, fmt.Errorf("pgembed: postgres did not start: %w; %s ends with: %s", err, f.logfile(), tail(f.logfile(), from))
	}
	return proc, nil
}

// settings is postgres's command line: a Unix socket of our own, no TCP.
func (f folder) settings(cfg Config) []string {
	args := []string{
		"-D", f.data(), "-k", f.sock(), "-c", "listen_addresses=", "-c", "port=5432",
		"-c", "unix_socket_permissions=0700", "-c", "max_connections=200", "-c", "shared_buffers=32MB",
		"-c", "log_checkpoints=off",
	}
	if !cfg.Durable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	for _, p := range cfg.Params {
		args = append(args, "-c", p)
	}
	return args
}

// URL names the maintenance database, postgres, over the server's Unix socket. Change the database with net/url, not by
// cutting the string.
func (s *Server) URL() string { return s.folder.url() }

// Dir is the folder of the server, absolute.
func (s *Server) Dir() string { return string(s.folder) }

// Attached reports whether the server was found running. It then belongs to the process that started it.
func (s *Server) Attached() bool { return s.proc == nil }

// Done is closed when the server has ended, whatever ended it. It is nil, and so never ready, for an attached server.
func (s *Server) Done() <-chan struct{} {
	if s.proc == nil {
		return nil
	}
	return s.proc.done
}

// Stop shuts the server down fast: it ends the sessions, writes a checkpoint and waits for the end, at most 20 seconds.
// A server that does not obey is killed. Stopping again, or an attached server, does nothing.
func (s *Server) Stop() error {
	if s.proc == nil {
		return nil
	}
	return s.proc.end(stage{syscall.SIGINT, stopFast}, stage{syscall.SIGQUIT, stopAtOnce}, stage{syscall.SIGKILL, stopAtOnce})
}

// Kill ends the server at once, without a checkpoint, as a crash of postgres would, and waits for the end. It does
// nothing to an attached server.
func (s *Server) Kill() {
	if s.proc != nil {
		_ = s.proc.end(stage{syscall.SIGQUIT, stopAtOnce}, stage{syscall.SIGKILL, stopAtOnce})
	}
}
