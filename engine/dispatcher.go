package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// claimLimit is the number of runs of one claim. More would only be dropped when the batch's budget is used up.
	claimLimit = 128
	// handedLimit is the number of runs of one hand-over.
	handedLimit = 256
	// handedLook is how long a dispatcher that is busy with what is handed over does without a claim.
	handedLook = time.Second
	// handedGrace is how long what is due is left to the hand-over while that is busy.
	handedGrace = 250 * time.Millisecond
	// shortestWait keeps a run that is due, but locked by somebody else, from making the dispatcher spin.
	shortestWait = 20 * time.Millisecond
	// firstBackOff and lastBackOff bound the pause after an error of the database.
	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 5 * time.Second
	// claimTimeout bounds one claim. Shutting down waits for the claim under way, so that its work is not lost.
	claimTimeout = 30 * time.Second
)

// dispatcher is the one goroutine that moves the runs of this process on. It claims due runs, takes their turns and
// commits them together; it sleeps until a hint, a due time or the poll.
type dispatcher struct {
	store    *db.Store
	exec     *executor
	figures  *figures
	registry *registry
	codes    []Code
	handed   <-chan struct{} // something was handed over
	nudges   <-chan struct{} // something else became due
	poll     time.Duration
	random   io.Reader
	clock    func() time.Time
	log      zerolog.Logger

	woken     bool          // blocked runs of these codes were made due
	failing   int           // errors in a row
	ahead     time.Duration // of this process's clock is that of the database, when last seen
	nextClaim time.Time     // by this process's clock
	nextDue   time.Time     // when something is due that this process knows of, by its clock; zero when nothing is
	urgent    bool          // the next claim is for whatever is due
	lastTaken time.Time     // when something was handed over last
}

// run works until ctx ends.
func (d *dispatcher) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	handed, nudges := d.handed, d.nudges
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-handed:
		case <-nudges:
			d.claimNow()
		}
		pause, err := d.step(context.WithoutCancel(ctx))
		handed, nudges = d.handed, d.nudges
		if err != nil {
			// A hint does not make a database answer that does not.
			pause, handed, nudges = d.backOff(err), nil, nil
		} else {
			d.recovered()
		}
		timer.Reset(pause)
	}
}

// step advances what was handed over, claims what else is due when it is time to, and says how long to pause.
func (d *dispatcher) step(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	more, err := d.advanceHanded(ctx)
	if err != nil {
		d.claimNow()
		return 0, err
	}
	now := d.clock()
	if d.isDue(now) {
		d.nextClaim, d.urgent = now, true
	}
	if !now.Before(d.nextClaim) || d.nextClaim.Sub(now) > 2*d.poll { // the clock may have gone back
		pause, err := d.look(ctx, now.Sub(d.lastTaken) < handedLook)
		if err != nil {
			d.claimNow()
			return 0, err
		}
		d.nextClaim = d.clock().Add(pause)
	}
	if more {
		return 0, nil
	}
	return max(d.until().Sub(d.clock()), 0), nil
}

// isDue says that something is due that this process knows of.
func (d *dispatcher) isDue(now time.Time) bool { return !d.nextDue.IsZero() && !now.Before(d.nextDue) }

// until is when there is something to do without a hint.
func (d *dispatcher) until() time.Time {
	if d.nextDue.IsZero() {
		return d.nextClaim
	}
	return sooner(d.nextClaim, d.nextDue)
}

// look claims what is due. Who has nothing to do asks first whether there is anything; while what is handed over is being
// advanced, what is due for a moment only is left to that.
func (d *dispatcher) look(ctx context.Context, busy bool) (time.Duration, error) {
	switch {
	case d.urgent || !d.woken:
		return d.claim(ctx, 0)
	case busy:
		pause, err := d.claim(ctx, handedGrace)
		if pause > 0 { // else there is something left that is for claims
			pause = max(pause, handedGrace)
		}
		return pause, err
	}
	codes := d.claimable()
	if len(codes) == 0 {
		return d.idle(), nil
	}
	in, err := d.store.NextDue(ctx, stored(codes))
	if err != nil {
		return 0, err
	}
	if in <= 0 {
		return d.claim(ctx, 0)
	}
	d.nextDue = d.clock().Add(max(in, shortestWait))
	return d.idle(), nil
}

// claimNow makes the next step claim whatever is due.
func (d *dispatcher) claimNow() { d.nextClaim, d.urgent = d.clock(), true }

// advanceHanded moves on the runs that this process itself made due. It reports whether more of them wait.
func (d *dispatcher) advanceHanded(ctx context.Context) (more bool, err error) {
	t := turns{d: d, batch: d.exec.begin()}
	done, err := d.store.AdvanceHanded(ctx, db.Advance{Limit: handedLimit, Decide: t.decide})
	if done.Taken == 0 {
		return false, err
	}
	d.lastTaken = d.clock()
	// Others may have made something due without a hint; while runs go on here, it does not wait for the poll.
	d.nextClaim = sooner(d.nextClaim, d.lastTaken.Add(handedLook))
	if done.Left || t.again {
		d.claimNow()
	}
	if due := done.NextDue; due != nil {
		d.knowsOf(due.Add(-d.ahead))
	}
	return done.More, errors.Join(err, t.block(ctx))
}

// knowsOf notes when something is due, by this process's clock.
func (d *dispatcher) knowsOf(due time.Time) {
	if d.nextDue.IsZero() || due.Before(d.nextDue) {
		d.nextDue = due
	}
}

// sooner is the earlier of two times.
func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// claim claims what is due for longer than the grace and says in how long to claim again.
func (d *dispatcher) claim(ctx context.Context, grace time.Duration) (time.Duration, error) {
	began := d.clock()
	d.urgent, d.nextDue = false, time.Time{} // what is due later is found again
	var wakeErr error                        // is no reason to keep the others waiting
	if !d.woken {
		wakeErr = d.store.WakeBlocked(ctx, stored(d.codes))
		d.woken = wakeErr == nil
	}
	codes := d.claimable()
	if len(codes) == 0 {
		return d.idle(), nil
	}
	t := turns{d: d, batch: d.exec.begin()}
	ask := db.Advance{Codes: stored(codes), Limit: claimLimit, Grace: grace, Decide: t.decide}
	done, err := d.store.Advance(ctx, ask)
	if err == nil {
		d.ahead = done.Ahead
	}
	if err == nil && done.Skipped != nil {
		// Somebody keeps this run locked; its turn comes if we wait for the lock.
		var one db.Advanced
		one, err = d.store.AdvanceOne(ctx, ask, *done.Skipped)
		done = join(done, one)
	}
	if err := errors.Join(wakeErr, err, t.block(ctx)); err != nil {
		return 0, err
	}
	d.report(done.Failed)
	if done.Full || t.again {
		return 0, nil
	}
	return d.pause(done, d.clock().Sub(began)), nil
}

// join adds what the second of two claims did to the first.
func join(a, b db.Advanced) db.Advanced {
	a.Full = a.Full || b.Full
	a.Failed = append(a.Failed, b.Failed...)
	if a.NextDue == nil || b.NextDue != nil && b.NextDue.Before(*a.NextDue) {
		a.NextDue = b.NextDue
	}
	return a
}

// report logs runs whose turns could not be read or stored.
func (d *dispatcher) report(failed []db.FailedTurn) {
	for _, f := range failed {
		d.log.Error().Err(f.Err).Str("namespace", string(f.Run.Namespace)).Str("run", string(f.Run.RunID)).
			Msg("the turn of a run failed")
	}
}

// claimable leaves out workflows with too many abandoned calls.
func (d *dispatcher) claimable() []Code {
	codes := make([]Code, 0, len(d.codes))
	for _, c := range d.codes {
		if !d.exec.stuck.full(c.Workflow) {
			codes = append(codes, c)
		}
	}
	return codes
}

// pause is the time until something is due by the database's clock or may have been overlooked, at most that until the next
// poll. Polls count from one claim to the next: a claim that waited for a lock does not put the next one off.
func (d *dispatcher) pause(done db.Advanced, spent time.Duration) time.Duration {
	pause := max(d.idle()-max(spent, 0), shortestWait)
	if due := done.NextDue; due != nil {
		now := d.clock()
		d.knowsOf(now.Add(max(due.Sub(now.Add(d.ahead)), shortestWait)))
	}
	if done.LookIn > 0 {
		pause = min(pause, max(done.LookIn-spent, shortestWait))
	}
	return pause
}

// idle is the poll interval, give or take a fifth, so that processes do not poll in step.
func (d *dispatcher) idle() time.Duration { return spread(d.random, d.poll) }

// backOff is the pause after an error. Of a streak only the first error is logged.
func (d *dispatcher) backOff(err error) time.Duration {
	if d.failing == 0 {
		d.log.Error().Err(err).Msg("runs do not go on: the database refuses the dispatcher")
	}
	pause := min(firstBackOff<<min(d.failing, 10), lastBackOff)
	d.failing++
	return pause
}

func (d *dispatcher) recovered() {
	if d.failing > 0 {
		d.log.Info().Int("errors", d.failing).Msg("runs go on")
		d.failing = 0
	}
}

// remark logs what operators should know of a turn. An error that workflow code returned is told in its author's words,
// which may repeat a payload: who may read the run reads them there, and a developer in the log of development mode.
func (d *dispatcher) remark(before history.Run, out history.Outcome) {
	if out.Blocked && len(out.Events) > 0 {
		line := d.log.Warn().Str("namespace", string(before.Key.Namespace)).Str("run", string(before.Key.RunID)).
			Str("workflow", before.Workflow).Str("cause", string(out.Run.BlockCause))
		if out.Run.BlockCause != history.BlockError || d.exec.dev {
			line = line.Str("diagnosis", out.Run.BlockDiagnosis)
		}
		line.Msg("run blocked")
	}
	warn := d.exec.limits.WarnEvents
	if before.HistoryLength() < warn && out.Run.HistoryLength() >= warn && !out.Ended {
		d.log.Warn().Str("namespace", string(before.Key.Namespace)).Str("run", string(before.Key.RunID)).
			Str("workflow", before.Workflow).Int64("events", out.Run.HistoryLength()).
			Msg("the history of the run is long; the workflow should continue as new")
	}
}

func stored(codes []Code) []db.Code {
	list := make([]db.Code, len(codes))
	for i, c := range codes {
		list[i] = db.Code(c)
	}
	return list
}
