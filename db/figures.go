package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/tally"
)

// figures count what a store does.
type figures struct {
	commits, resumes *tally.Histogram
	turns, errors    *tally.Grid
}

// What becomes of a turn, for counters.
const (
	turnAdvanced = "advanced"
	turnEnded    = "ended"
	turnBlocked  = "blocked"
	turnFailed   = "failed"
)

// The classes of errors of the database, for counters.
const (
	errorConnection    = "connection"
	errorTimeout       = "timeout"
	errorLock          = "lock"
	errorSerialization = "serialization"
	errorResources     = "resources"
	errorShutdown      = "shutdown"
	errorRefused       = "refused"
)

func newFigures() *figures {
	return &figures{
		commits: tally.NewHistogram(tally.Seconds()), resumes: tally.NewHistogram(tally.Seconds()),
		turns: tally.NewGrid([]string{turnAdvanced, turnEnded, turnBlocked, turnFailed}),
		errors: tally.NewGrid([]string{
			errorConnection, errorTimeout, errorLock, errorSerialization, errorResources, errorShutdown, errorRefused,
		}),
	}
}

// Stats are figures of a Store since it was opened. The words are fixed.
type Stats struct {
	AuditLost uint64 // refusals that are missing from the audit trail

	CommitTime tally.Distribution // of messages accepted by Accept, from the call to its answer, which follows the commit
	ResumeTime tally.Distribution // of turns that were stored, from when the run became due
	Turns      []tally.Count      // by what became of them: advanced, ended, blocked; failed: it could not be read or stored
	Errors     []tally.Count      // of transactions and look-ups by key, by class
}

// Stats reads them; it costs no query.
func (s *Store) Stats() Stats {
	return Stats{
		AuditLost: s.AuditLost(), CommitTime: s.figures.commits.Distribution(), ResumeTime: s.figures.resumes.Distribution(),
		Turns: s.figures.turns.Counts(), Errors: s.figures.errors.Counts(),
	}
}

// stored counts a turn that was committed.
func (f *figures) stored(r *claimedRun, now time.Time) {
	f.turns.Add(r.fate())
	if !r.dueSince.IsZero() {
		f.resumes.Observe(now.Sub(r.dueSince))
	}
}

// failed counts an error of the database, if it is one.
func (f *figures) failed(err error) {
	if class := errorClass(err); class != "" {
		f.errors.Add(class)
	}
}

// errorClass is empty for what is no error of the database.
func errorClass(err error) string {
	var pg *pgconn.PgError
	var lost *connectionError
	var refused *DatabaseError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pg):
		return stateClass(pg.Code)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return errorTimeout
	case errors.As(err, &lost), errors.Is(err, ErrUnavailable):
		return errorConnection
	case errors.As(err, &refused), errors.Is(err, errNotCommitted):
		return errorRefused
	}
	return ""
}

func stateClass(code string) string {
	switch code {
	case "55P03":
		return errorLock
	case "57014", "25P03", "25P04":
		return errorTimeout
	}
	switch code[:min(2, len(code))] {
	case "08":
		return errorConnection
	case "40":
		return errorSerialization
	case "53", "58":
		return errorResources
	case "57":
		return errorShutdown
	}
	return errorRefused
}

// dueFor notes since when the run is due, by the process's clock, of a run whose time was read just now.
func (r *claimedRun) dueFor(clock time.Time) {
	if wake := r.Run.WakeAt; wake != nil && r.Run.Status == history.Running {
		r.dueSince = clock.Add(-r.now.Sub(*wake))
	}
}
