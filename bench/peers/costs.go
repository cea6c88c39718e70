package main

import (
	"context"
	"time"
)

// spent is what the peer has used so far.
type spent struct {
	written written
	cpu     time.Duration
}

// spent reads the counters once the peer is idle.
func (m *match) spent(ctx context.Context) (s spent, err error) {
	if s.written, err = m.store.counted(ctx); err != nil {
		return s, err
	}
	if m.procs != nil {
		s.cpu, err = m.procs.cpu()
	}
	return s, err
}

// costs are what one run used, of what can be counted. A figure that cannot be had is left out.
type costs struct {
	// CPU is of this process, which is the client too, and of the server's.
	CPU     *float64 `json:"cpu_ms_per_run,omitempty"`
	WAL     *float64 `json:"wal_bytes_per_run,omitempty"`
	Commits *float64 `json:"commits_per_run,omitempty"`
}

// costs are what one of the runs used between two readings.
func (m *match) costs(before, after spent, runs int) (c costs) {
	per := func(n int64) *float64 {
		f := rounded(float64(n) / float64(runs))
		return &f
	}
	if m.store != nil {
		c.WAL = per(after.written.wal - before.written.wal)
		c.Commits = per(after.written.commits - before.written.commits)
	}
	if m.procs != nil {
		cpu := rounded(float64(after.cpu-before.cpu) / float64(time.Millisecond) / float64(runs))
		c.CPU = &cpu
	}
	return c
}
