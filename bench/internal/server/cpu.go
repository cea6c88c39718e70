package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on every Linux that matters.
const clockTick = 10 * time.Millisecond

// CPU is the processor time that this process and all processes of the server have used, the ended ones included.
type CPU struct {
	Process, Postgres time.Duration
}

// Sub is what was used between two readings.
func (c CPU) Sub(before CPU) CPU {
	return CPU{c.Process - before.Process, c.Postgres - before.Postgres}
}

// Total is the sum of both.
func (c CPU) Total() time.Duration { return c.Process + c.Postgres }

// ErrNoProc: this system has no /proc in the form of Linux, so nothing is known about processor time and memory.
var ErrNoProc = errors.New("no /proc: processor time and memory are not known here")

// CPU reads the processor times. Error: ErrNoProc.
func (s *Server) CPU() (CPU, error) {
	self, err := readProc("self")
	if err != nil {
		return CPU{}, err
	}
	main, err := s.postmaster()
	if err != nil {
		return CPU{}, err
	}
	postmaster, err := readProc(strconv.Itoa(main))
	if err != nil {
		return CPU{}, err
	}
	used := CPU{Process: self.used, Postgres: postmaster.used + postmaster.children}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return CPU{}, err
	}
	for _, dir := range dirs {
		if p, err := readProc(filepath.Base(dir)); err == nil && p.parent == main {
			used.Postgres += p.used
		}
	}
	return used, nil
}

func (s *Server) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.pg.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(line)
}

// proc is what /proc says of one process.
type proc struct {
	parent         int
	used, children time.Duration // by its threads; by children that ended and were waited for
}

func readProc(pid string) (proc, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return proc{}, ErrNoProc
	}
	p, err := parseStat(stat)
	if err != nil {
		return proc{}, err
	}
	if exact, ok := threads(pid); ok {
		p.used = exact
	}
	return p, nil
}

// parseStat reads the fields after the name, which may hold anything: state, parent, …, utime, stime, cutime, cstime.
func parseStat(stat []byte) (proc, error) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return proc{}, ErrNoProc
	}
	var n [5]int64
	for i, at := range []int{1, 11, 12, 13, 14} {
		v, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return proc{}, ErrNoProc
		}
		n[i] = v
	}
	return proc{
		parent: int(n[0]), used: time.Duration(n[1]+n[2]) * clockTick, children: time.Duration(n[3]+n[4]) * clockTick,
	}, nil
}

// threads sums the run time of the threads of a process, which the scheduler counts in nanoseconds where it counts at
// all. It misses threads that ended; Go keeps its own, and PostgreSQL has one each.
func threads(pid string) (sum time.Duration, ok bool) {
	files, err := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
	if err != nil || len(files) == 0 {
		return 0, false
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread ended
		}
		ran, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(n)
	}
	return sum, sum > 0
}

// Resident is the memory of this process in bytes, as the system counts it. Error: ErrNoProc.
func Resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, ErrNoProc
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, ErrNoProc
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
