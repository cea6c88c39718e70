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

// costs are what one run used of what can be counted.
func (m *match) costs(before, after spent, runs int, r *result) {
	per := func(n int64) *float64 {
		f := rounded(float64(n) / float64(runs))
		return &f
	}
	if m.store != nil {
		r.WAL = per(after.written.wal - before.written.wal)
		r.Commits = per(after.written.commits - before.written.commits)
	}
	if m.procs != nil {
		cpu := rounded(float64(after.cpu-before.cpu) / float64(time.Millisecond) / float64(runs))
		r.CPU = &cpu
	}
}
