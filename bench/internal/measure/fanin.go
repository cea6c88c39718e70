package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// FanIn sends signals of many clients to one run that takes them one after the other: each by a wait and a call of the
// workflow of its own. The engine may take several in one turn. The rate counts from the first call to the commit of the
// turn that takes the last one.
func FanIn(ctx context.Context, b *Bench) error {
	if err := b.Close(); err != nil { // that of the repetition before
		return err
	}
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	b.fed = r // Resume goes on with it
	n := slices.Max(b.Sizes.Histories)
	took, err := r.feed(ctx, fanRun, n)
	if err != nil {
		return err
	}
	b.Figures.Add("fan_in_per_s", load.PerSecond(n, took))
	b.Figures.Note("fan-in: the run takes signals one by one, with a wait and a call of its code for each; " +
		"the engine commits as many of these as it likes together")
	return nil
}

// fanRun is the run of FanIn.
const fanRun spec.RunID = "fan"

// feed starts a run of the taker and sends it signals from many clients.
func (r *rig) feed(ctx context.Context, id spec.RunID, n int) (time.Duration, error) {
	if _, err := r.engine.Start(ctx, engine.StartRequest{Workflow: takeSpec.Name, RunID: id}); err != nil {
		return 0, err
	}
	if err := r.parkedAgain(ctx, id); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := load.Spread(ctx, many, n, func(ctx context.Context, i int) error {
		_, err := r.engine.SendSignal(ctx, itemSignal(id, i))
		return err
	}); err != nil {
		return 0, err
	}
	if err := r.rest(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	return took, r.checkTaken(ctx, id, n)
}

func itemSignal(id spec.RunID, i int) engine.SignalRequest {
	return engine.SignalRequest{RunID: id, SignalID: spec.SignalID(fmt.Sprint(i)), Name: "item", Payload: floor.Payload}
}

// checkTaken wants a run of the taker to have taken n signals and to wait for the next.
func (r *rig) checkTaken(ctx context.Context, id spec.RunID, n int) error {
	run, err := r.engine.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	if run.Status != engine.StatusRunning || run.UnreadSignals != 0 || len(run.Waiting) != 1 || run.Waiting[0].ID != engine.ID("item", n) {
		return fmt.Errorf("run %s is %s with %d unread signals and waits for %v, not for item %d",
			id, run.Status, run.UnreadSignals, run.Waiting, n)
	}
	return nil
}
