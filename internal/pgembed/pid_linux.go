package pgembed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// servesData reports whether a process is a living PostgreSQL of one data directory. It reads /proc, because slim
// images have no ps. What it may not see counts as serving: the caller would delete a lock file.
func servesData(pid int, data string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	// pid (name) state …, and the name may itself hold blanks and parentheses
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open || end+2 >= len(stat) {
		return true
	}
	name, state := string(stat[open+1:end]), stat[end+2]
	if name != "postgres" || state == 'Z' || state == 'X' {
		return false
	}
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid)) // the postmaster works in its data directory
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	st, err := os.Stat(data)
	return err != nil || os.SameFile(cwd, st)
}
