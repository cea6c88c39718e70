package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	// claimLimit is the number of runs of one claim. More would only be dropped when the batch's budget is used up.
	claimLimit = 128
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
	registry *registry
	codes    []Code
	nudges   <-chan struct{}
	poll     time.Duration
	random   io.Reader
	clock    func() time.Time
	log      zerolog.Logger

	woken   bool          // blocked runs of these codes were made due
	failing int           // errors in a row
	ahead   time.Duration // of this process's clock is that of the database, when last seen
}

// run works until ctx ends.
func (d *dispatcher) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	nudges := d.nudges
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-nudges:
		}
		pause, err := d.step(context.WithoutCancel(ctx))
		nudges = d.nudges
		if err != nil {
			// A hint does not make a database answer that does not.
			pause, nudges = d.backOff(err), nil
		} else {
			d.recovered()
		}
		timer.Reset(pause)
	}
}

// step makes one claim and says how long to pause.
func (d *dispatcher) step(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	began := d.clock()
	var wakeErr error // is no reason to keep the others waiting
	if !d.woken {
		wakeErr = d.store.WakeBlocked(ctx, stored(d.codes))
		d.woken = wakeErr == nil
	}
	codes := d.claimable()
	if len(codes) == 0 {
		return d.idle(), nil
	}
	c := claim{d: d, batch: d.exec.begin()}
	ask := db.Advance{Codes: stored(codes), Limit: claimLimit, Decide: c.decide}
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
	if err := errors.Join(wakeErr, err, c.block(ctx)); err != nil {
		return 0, err
	}
	d.report(done.Failed)
	if done.Full || c.again {
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
		pause = min(pause, max(due.Sub(d.clock().Add(d.ahead)), shortestWait))
	}
	if done.LookIn > 0 {
		pause = min(pause, max(done.LookIn-spent, shortestWait))
	}
	return pause
}

// idle is the poll interval, give or take a fifth, so that processes do not poll in step.
func (d *dispatcher) idle() time.Duration {
	var raw [2]byte
	if _, err := io.ReadFull(d.random, raw[:]); err != nil {
		return d.poll
	}
	spread := int64(binary.BigEndian.Uint16(raw[:])) - 1<<15
	return d.poll + time.Duration(int64(d.poll)/5*spread/(1<<15))
}

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

// claim is the turns of one claim transaction, and what is left to do after it.
type claim struct {
	d      *dispatcher
	batch  *batch
	again  bool // runs were left out that this process can take at once
	blocks []lateBlock
}

// lateBlock is a run to be blocked in a transaction of its own.
type lateBlock struct {
	key     history.RunKey
	nextSeq int64
	block
}

// decide takes the turn of one claimed run.
func (c *claim) decide(
	run history.Run, st *history.State, now time.Time, rejected map[spec.HookID]history.Rejection,
) (history.Outcome, db.Fate) {
	code, known := c.d.registry.get(Code{Workflow: run.Workflow, Version: run.Version})
	if !known {
		return history.Outcome{}, db.Drop
	}
	r := c.batch.turn(turnRequest{code: code, state: st, run: run, now: now, rejected: rejected})
	switch {
	case r.block != nil:
		c.blocks = append(c.blocks, lateBlock{key: run.Key, nextSeq: run.NextSeq, block: *r.block})
		return r.outcome, db.Drop
	case r.dropped:
		c.again = true
		return r.outcome, db.Drop
	}
	c.d.remark(run, r.outcome)
	return r.outcome, db.Commit
}

// block records the runs whose calls were abandoned.
func (c *claim) block(ctx context.Context) error {
	for _, b := range c.blocks {
		if err := c.d.store.Block(ctx, b.key, b.nextSeq, b.cause, b.diagnosis); err != nil {
			return err
		}
	}
	return nil
}
