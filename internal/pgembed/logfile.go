//go:build linux || darwin

package pgembed

import (
	"os"
	"strings"
)

// Limits of postgres.log: how big it may be at a start before it gives way to a new one, and how much of it an error
// message shows.
const (
	logLimit = 8 << 20
	logShown = 1 << 10
)

// logfile is an open postgres.log.
type logfile struct {
	*os.File
	size int64 // at the time of opening
}

// openLog opens the server's log for appending. One that has grown over the limit becomes postgres.log.old.
func openLog(path string) (*logfile, error) {
	st, err := os.Stat(path)
	if err == nil && st.Size() > logLimit {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &logfile{File: f, size: st.Size()}, nil
}

// tail is the end of what was logged after an offset, on one line.
func tail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	from = max(from, st.Size()-logShown)
	b := make([]byte, st.Size()-from)
	n, _ := f.ReadAt(b, from) // a short read shows less
	return strings.ReplaceAll(strings.TrimSpace(string(b[:n])), "\n", " | ")
}
