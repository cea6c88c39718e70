package db

import (
	"context"
	"fmt"
	"iter"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// verifyPage is how many runs are verified in one transaction.
const verifyPage = 64

// VerifyQuery says which runs to verify. The zero value means all of them.
type VerifyQuery struct {
	Namespace spec.Namespace // empty: every namespace
	Run       spec.RunID     // empty: every run; needs Namespace
}

// Verified is what a page of verified runs came to.
type Verified struct {
	Runs        int
	Events      int64
	Differences int
	Found       []Difference // of each run the first 100, and of what belongs to no run all
}

// Difference is one place where a row of a run is not what its events say, or where an event breaks a law of histories.
// It holds no payload, no digest and no metadata.
type Difference struct {
	Run history.RunKey // zero when the run's row is missing: nothing else has its names
	history.Difference
}

// String says it in one line.
func (d Difference) String() string {
	if d.Run == (history.RunKey{}) {
		return d.Difference.String()
	}
	return fmt.Sprintf("run %q of %q: %s", d.Run.RunID, d.Run.Namespace, d.Difference)
}

// Verify folds the events of runs and compares every row beside them with what they say: runs, signals and hooks, all
// columns that are projections; and the entries of the schedule with the runs' rows. It takes no lock and may run beside
// anything else: each page of 64 runs is read in a transaction that sees one instant, in which rows and events agree or
// there is a difference. Events are read as they come, one at a time, whatever a run has of them. Runs that begin meanwhile
// may be left out. When the query names nothing, it looks in pages of the same kind for what is left over, too: entries of
// the schedule that no run has, and events, signals and hooks of runs that are not there.
//
// It needs neither the code of workflows nor keys, and Run need not be under way. It yields one page after the other,
// between transactions, until the first error, which is the last it yields: history.ErrRunNotFound when the query names a
// run that is not there, *spec.InvalidError for a run without its namespace, ErrUnavailable, *DatabaseError. A difference
// is no error. Each use of the sequence verifies anew.
func (s *Store) Verify(ctx context.Context, q VerifyQuery) iter.Seq2[Verified, error] {
	return func(yield func(Verified, error) bool) {
		if err := q.check(); err != nil {
			yield(Verified{}, err)
			return
		}
		for after, more := int64(0), true; more; {
			page := &verifiedPage{}
			err := page.read(ctx, s, q, after)
			if err != nil {
				yield(Verified{}, translate(err))
				return
			}
			if page.Runs > 0 && !yield(page.Verified, nil) {
				return
			}
			after, more = page.last, page.Runs == verifyPage && q.Run == ""
		}
		if q == (VerifyQuery{}) {
			s.verifyLeftOvers(ctx, yield)
		}
	}
}

func (q VerifyQuery) check() error {
	if q.Run != "" && q.Namespace == "" {
		return &spec.InvalidError{Field: "namespace", Rule: "must be named with a run"}
	}
	return nil
}

// statement is the one that reads the runs behind a key.
func (q VerifyQuery) statement(after int64) (sql string, params any) {
	switch {
	case q.Run != "":
		return sqlc.ReadRun, sqlc.ReadRunParams{Namespace: string(q.Namespace), RunID: string(q.Run)}
	case q.Namespace != "":
		return sqlc.VerifyNamespace, sqlc.VerifyNamespaceParams{Namespace: string(q.Namespace), After: after, Count: verifyPage}
	}
	return sqlc.VerifyRuns, sqlc.VerifyRunsParams{After: after, Count: verifyPage}
}
