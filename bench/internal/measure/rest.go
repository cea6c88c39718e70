package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// look is how often the database is asked whether all is done. Nobody asks while clients send.
const lookEvery = 2 * time.Millisecond

// rest waits until no run has anything to do: what a run has to do next is in the table of what is due until the commit of
// the turn that does it. The runs themselves may be many, and asking them would take time away from what is measured.
func (r *rig) rest(ctx context.Context) error {
	for {
		var due bool
		if err := r.look.QueryRow(ctx, `SELECT EXISTS (SELECT FROM due)`).Scan(&due); err != nil {
			return err
		}
		if !due {
			return nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// callWithin is how long nobody asks for a run whose workflow was not called yet.
const callWithin = 5 * time.Millisecond

// taken waits until a run of the taker, which just got a signal, has nothing to do. Until the workflow is called nobody
// asks: questions without a pause would take the engine's processor away.
func (r *rig) taken(ctx context.Context, id spec.RunID) error {
	timer := time.NewTimer(callWithin)
	select {
	case <-r.taker.called:
	case <-timer.C:
	}
	timer.Stop()
	return r.parkedAgain(ctx, id)
}

// parkedAgain asks without a pause until one run has nothing to do.
func (r *rig) parkedAgain(ctx context.Context, id spec.RunID) error {
	for {
		var due bool
		if err := r.look.QueryRow(ctx,
			`SELECT wake_at IS NOT NULL FROM runs WHERE namespace = $1 AND run_id = $2`, spec.DefaultNamespace, id).Scan(&due); err != nil {
			return err
		}
		if !due {
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// checkParked wants that many runs of a workflow to be running, and looks at some of them in full.
func (r *rig) checkParked(ctx context.Context, workflow string, name func(int) spec.RunID, n int) error {
	counts, err := r.statuses(ctx, workflow)
	if err != nil {
		return err
	}
	if counts[engine.StatusRunning] < n {
		return fmt.Errorf("%d runs were started, but %v are there", n, counts)
	}
	for i := 0; i < n; i += max(n/10, 1) {
		run, err := r.engine.Snapshot(ctx, name(i))
		if err != nil {
			return err
		}
		if run.Status != engine.StatusRunning || len(run.Waiting) != 1 {
			return fmt.Errorf("run %s is %s and waits for %d things, though its turn is over", run.RunID, run.Status, len(run.Waiting))
		}
	}
	return nil
}

// checkCompleted wants exactly that many runs of a workflow to be completed.
func (r *rig) checkCompleted(ctx context.Context, workflow string, n int) error {
	counts, err := r.statuses(ctx, workflow)
	if err == nil && counts[engine.StatusCompleted] != n {
		err = fmt.Errorf("%d runs should be completed, but there are %v", n, counts)
	}
	return err
}

// statuses counts the runs of a workflow by status, but for those that warm up.
func (r *rig) statuses(ctx context.Context, workflow string) (map[engine.Status]int, error) {
	rows, err := r.look.Query(ctx,
		`SELECT status, count(*) FROM runs WHERE workflow = $1 AND run_id NOT LIKE 'warm-%' GROUP BY status`, workflow)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[engine.Status]int{}
	for rows.Next() {
		var status engine.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, err
		}
		counts[status] = n
	}
	return counts, rows.Err()
}
