//go:build linux || darwin

package pgembed

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// foreign reports whether postmaster.pid names a living PostgreSQL that this package did not start, such as one started
// by hand with pg_ctl. It is asked only while this process holds the folder's lock.
func (f folder) foreign() bool {
	pid := f.pid()
	return pid > 0 && servesData(pid, f.data())
}

// pid is the process ID in postmaster.pid, or 0.
func (f folder) pid() int {
	b, err := os.ReadFile(f.pidfile())
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		return 0
	}
	return pid
}

// clearStale removes what a killed server left. PostgreSQL itself only tests whether the process ID is in use, so it
// would refuse to start when the old one is a zombie (PID 1 does not reap in many containers) or was given to another
// process.
func (f folder) clearStale() error {
	for _, path := range []string{f.pidfile(), f.socket() + ".lock", f.socket()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
