package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// tick is the unit of the CPU times in /proc, the same on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// processes are those whose CPU time is a peer's: this one, and those of the server.
type processes struct{ postmaster int } // 0 where the peer uses no server

// stat is what /proc says of a process.
type stat struct {
	parent      int
	name        string
	own, reaped time.Duration // CPU time, and that of its children that have ended
}

// serverProcesses finds the postmaster of a server on this machine: the parent of a session's process. A given process
// ID wins.
func serverProcesses(ctx context.Context, given int, admin *pgx.Conn) (processes, error) {
	if given != 0 {
		s, err := readStat(given)
		if err == nil && !isPostgres(s) {
			err = fmt.Errorf("-server-pid: process %d is %q", given, s.name)
		}
		return processes{given}, err
	}
	var (
		backend int
		addr    *netip.Addr
	)
	if err := admin.QueryRow(ctx, "select pg_backend_pid(), inet_server_addr()").Scan(&backend, &addr); err != nil {
		return processes{}, err
	}
	if addr != nil && !addr.IsLoopback() {
		return processes{}, fmt.Errorf("the server is on %s", addr)
	}
	session, err := readStat(backend)
	if err != nil {
		return processes{}, err
	}
	postmaster, err := readStat(session.parent)
	if err == nil && !(isPostgres(session) && isPostgres(postmaster)) {
		err = fmt.Errorf("process %d of this machine is %q", backend, session.name)
	}
	return processes{session.parent}, err
}

func isPostgres(s stat) bool { return strings.HasPrefix(s.name, "postgres") || s.name == "postmaster" }

// cpu is the CPU time that the processes have used up to now.
func (p processes) cpu() (time.Duration, error) {
	self, err := readStat(os.Getpid())
	if err != nil || p.postmaster == 0 {
		return self.own, err
	}
	postmaster, err := readStat(p.postmaster)
	if err != nil {
		return 0, err
	}
	sum := self.own + postmaster.own + postmaster.reaped
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range found {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if child, err := readStat(pid); err == nil && child.parent == p.postmaster { // others may have ended by now
			sum += child.own
		}
	}
	return sum, nil
}

// readStat reads /proc/PID/stat. The name stands in parentheses and may have any character; fields are counted after it.
func readStat(pid int) (stat, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	text := string(b)
	from, to := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return stat{}, fmt.Errorf("%s is not readable", path)
	}
	fields := strings.Fields(text[to+1:]) // the first one is the third of the file
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("%s is too short", path)
	}
	var n [15]int
	for i, f := range fields[:15] {
		n[i], _ = strconv.Atoi(f) // the state, the first, is a letter and not used
	}
	return stat{
		parent: n[1],
		name:   text[from+1 : to],
		own:    time.Duration(n[11]+n[12]) * tick,
		reaped: time.Duration(n[13]+n[14]) * tick,
	}, nil
}
