//go:build linux || darwin

package pgembed

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// pollEvery is the pause between two looks at something that tells nobody when it changes.
const pollEvery = 5 * time.Millisecond

// tryLock takes a kernel lock on a file that it makes when missing, or returns nil when another process has it. The
// lock is gone when the last process that inherited the descriptor has ended, also by SIGKILL.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, &os.PathError{Op: "flock", Path: path, Err: err}
}

// lockFile waits for a kernel lock; closing the file releases it.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		f, err := tryLock(path)
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
