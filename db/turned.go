package db

import (
	"context"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// Turned is a turn that was stored, for Config.Turned.
type Turned struct {
	Run     history.RunKey
	Code    Code
	Outcome string    // advanced, ended or blocked
	Taken   []int64   // the messages that it showed to workflow code, by seq; that of the start is 1
	Due     time.Time // when the run became due, by the process's clock; zero when that is not known
	At      time.Time // when the commit was known

	row int64
}

// tellTurned tells Config.Turned of a turn that was stored.
func (s *Store) tellTurned(r *claimedRun, now time.Time) {
	if s.cfg.Turned == nil {
		return
	}
	t := Turned{
		Run: r.Run.Key, Code: Code{Workflow: r.Run.Workflow, Version: r.Run.Version}, Outcome: r.fate(), Due: r.dueSince, At: now,
		row: r.ID,
	}
	for _, e := range r.outcome.Events {
		t.Taken = append(t.Taken, e.Taken...)
	}
	if r.Run.NextSeq == int64(len(t.Taken))+2 { // before it there were the start and these messages
		t.Taken = append(t.Taken, 1)
	}
	slices.Sort(t.Taken)
	s.cfg.Turned(t)
}

// fate is what became of a stored turn, for counters.
func (r *claimedRun) fate() string {
	switch {
	case r.outcome.Ended:
		return turnEnded
	case r.outcome.Blocked:
		return turnBlocked
	}
	return turnAdvanced
}

// maxTraces bounds the rows of a run's trail that Traces looks at.
const maxTraces = 1024

// Traces are the W3C traceparents under which the messages of a turn came, as far as the audit trail knows them and they are
// among the last 1,024 of their run. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) Traces(ctx context.Context, t Turned) ([]string, error) {
	rows, err := lookUp[sqlc.ReadTracesRow](ctx, s, sqlc.ReadTraces, sqlc.ReadTracesParams{Run: &t.row, Count: maxTraces, Seqs: t.Taken})
	if err != nil {
		return nil, err
	}
	traces := make([]string, len(rows))
	for i, r := range rows {
		traces[i] = r.Trace
	}
	return traces, nil
}
