package engine

import (
	"context"
	"iter"

	"github.com/flowgate-go/flowgate/db"
)

// VerifyQuery says which runs to verify; the zero value means all runs of all namespaces.
type VerifyQuery = db.VerifyQuery

// Verified is what a page of verified runs came to.
type Verified = db.Verified

// Difference is one place where a row of a run is not what the run's events say. It holds no payload, no digest and no
// metadata.
type Difference = db.Difference

// Verify folds the events of runs and compares with them everything that is stored beside them. It changes nothing, takes
// no lock, and may be used on a system at work, where it finds differences only if there are some. Workflow code is not
// called, and Run need not be under way.
//
// It yields one page of at most 64 runs after the other until the first error, which is the last it yields: ErrRunNotFound
// for a named run that is not there, *InvalidError for a run without its namespace, ErrUnavailable. A difference is no
// error. The work is in proportion to all events of the runs; memory is not.
func (e *Engine) Verify(ctx context.Context, q VerifyQuery) iter.Seq2[Verified, error] {
	return e.store.Verify(ctx, q)
}
