package measure

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Of so many signals one is sent again, and one is followed by another under its ID.
const (
	duplicateIn = 100
	conflictIn  = 1000
)

// verdicts counts what was answered.
type verdicts struct {
	accepted, duplicate, conflict atomic.Int64
}

// Steady has clients start runs and signal them, with some duplicates and conflicts, for a time. The rate is that of
// whole lives, from the first start to the last completion. Every verdict must be the one that the sender expects.
func Steady(ctx context.Context, b *Bench) (err error) {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var seen verdicts
	name := names("steady")
	begin := time.Now()
	n, _, err := load.SpreadFor(ctx, many, b.Sizes.Steady, func(ctx context.Context, i int) error {
		return r.live(ctx, name(i), i, &seen)
	})
	if err != nil {
		return err
	}
	if err := r.rest(ctx); err != nil {
		return err
	}
	took := time.Since(begin)
	duplicates, conflicts := (n+duplicateIn-1)/duplicateIn, (n+conflictIn-1)/conflictIn
	if seen.accepted.Load() != int64(2*n) || seen.duplicate.Load() != int64(duplicates) || seen.conflict.Load() != int64(conflicts) {
		return fmt.Errorf("%d runs got %d acceptances, %d duplicates, %d conflicts", n,
			seen.accepted.Load(), seen.duplicate.Load(), seen.conflict.Load())
	}
	b.Figures.Add("steady_per_s", load.PerSecond(n, took))
	b.Figures.Add("steady_messages_per_s", load.PerSecond(2*n+duplicates+conflicts, took))
	return r.checkCompleted(ctx, waitSpec.Name, n)
}

// live starts the run and sends its signals.
func (r *rig) live(ctx context.Context, id spec.RunID, i int, seen *verdicts) error {
	started, err := r.engine.Start(ctx, engine.StartRequest{Workflow: waitSpec.Name, RunID: id, Input: floor.Payload})
	if err != nil {
		return err
	}
	first, err := r.engine.SendSignal(ctx, goSignal(id))
	if err != nil {
		return err
	}
	for _, v := range []engine.Verdict{started.Verdict, first.Verdict} {
		if v == engine.VerdictAccepted {
			seen.accepted.Add(1)
		}
	}
	if i%duplicateIn == 0 {
		again, err := r.engine.SendSignal(ctx, goSignal(id))
		if err != nil {
			return err
		}
		if again.Verdict == engine.VerdictDuplicate && again.Sequence == first.Sequence {
			seen.duplicate.Add(1)
		}
	}
	if i%conflictIn == 0 {
		other := goSignal(id)
		other.Payload = []byte(`{"text":"another"}`)
		var conflict *engine.SignalConflictError
		if _, err := r.engine.SendSignal(ctx, other); errors.As(err, &conflict) {
			seen.conflict.Add(1)
		} else if err != nil {
			return err
		}
	}
	return nil
}
