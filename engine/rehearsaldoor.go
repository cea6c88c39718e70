package engine

import (
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// This file is the door of a Rehearsal: what package db does with rows, done with maps.

// maxRestless bounds the turns after one message: a run that is due again after so many does not come to rest.
const maxRestless = 1000

var errRestless = errors.New("the run does not come to rest: each turn makes the next one due at once")

func (r *Rehearsal) parse(raw []byte) (canon.Payload, error) {
	if raw == nil {
		raw = []byte("null")
	}
	return canon.Parse(raw, canon.DefaultLimits)
}

// accept judges a message, keeps what it changed and lets the run go on.
func (r *Rehearsal) accept(m history.Message) (Receipt, error) {
	records := history.Records{
		Run: r.run, Known: r.begun(), Fresh: len(r.events) == 0, Signals: r.signals, Hooks: r.hooks,
		Tasks:   r.tasks,
		Updates: r.updates, OpenUpdates: r.openUpdates(),
	}
	receipt, err := records.Accept(m, r.auth, r.exec.limits, r.now)
	if err != nil {
		return Receipt{}, err
	}
	r.run = records.Run
	r.keepTasks(records.NewTasks, records.ClosedTasks)
	if err := r.append(records.Events); err != nil {
		return Receipt{}, err
	}
	return receipt, r.settle()
}

// append stores events in the form a database would give back.
func (r *Rehearsal) append(events []history.Event) error {
	for _, e := range events {
		encoded, err := history.Encode(e)
		if err != nil {
			return err
		}
		stored, err := history.Decode(e.Generation, e.Seq, e.At, encoded)
		if err != nil {
			return err
		}
		r.events = append(r.events, stored)
	}
	return nil
}

// settle takes turns while the run is due.
func (r *Rehearsal) settle() error {
	for range maxRestless {
		if r.held || r.run.WakeAt == nil || r.run.WakeAt.After(r.now) {
			return nil
		}
		if err := r.turn(); err != nil {
			return err
		}
	}
	return errRestless
}

// turn takes one turn. Hooks that cannot be opened are refused and the turn is decided again, as the store does.
func (r *Rehearsal) turn() error {
	rejected := map[spec.HookID]history.Rejection{}
	for {
		st, err := r.fold()
		if err != nil {
			return err
		}
		result := r.exec.begin().turn(turnRequest{code: r.code, state: st, run: r.run, now: r.now, rejected: rejected})
		out := result.outcome
		switch {
		case result.block != nil:
			out = history.BlockedOutcome(r.run, result.block.cause, result.block.diagnosis, r.now, r.exec.limits)
		case result.dropped:
			return fmt.Errorf("%d abandoned calls of the workflow function are still under way", r.exec.stuck.count())
		}
		if !r.refuse(out.NewHooks, rejected) {
			return r.commit(out)
		}
	}
}

// refuse notes which of the new hooks cannot be opened and reports whether there are any.
func (r *Rehearsal) refuse(created []history.Hook, rejected map[spec.HookID]history.Rejection) bool {
	any := false
	tokens := map[history.TokenDigest]bool{}
	for _, h := range r.hooks {
		tokens[h.Grant.Digest] = true
	}
	for _, h := range created {
		_, used := r.hooks[h.ID]
		switch {
		case used:
			rejected[h.ID] = history.Rejection{Reason: history.RejectIDUsed}
		case tokens[h.Grant.Digest]:
			rejected[h.ID] = history.Rejection{Reason: history.RejectTaken, OwnerRun: r.key.RunID}
		default:
			tokens[h.Grant.Digest] = true
			continue
		}
		any = true
	}
	return any
}

// commit keeps what a turn wants written.
func (r *Rehearsal) commit(out history.Outcome) error {
	if err := r.append(out.Events); err != nil {
		return err
	}
	r.run = out.Run
	for _, c := range out.Consumed {
		s := r.signals[c.Signal]
		s.ConsumedBy = &c.By
		r.signals[c.Signal] = s
	}
	for _, h := range out.NewHooks {
		r.hooks[h.ID] = h
	}
	for _, h := range out.ClosedHooks {
		r.hooks[h.ID] = h
	}
	r.keepTasks(out.NewTasks, out.ClosedTasks)
	for _, end := range out.EndedUpdates {
		u := r.updates[end.ID]
		u.State, u.ResolvedAt, u.ResolvedSeq = end.State, end.ResolvedAt, end.ResolvedSeq
		r.updates[end.ID] = u
	}
	return nil
}

// fold makes the state of the current generation from the stored events.
func (r *Rehearsal) fold() (*history.State, error) {
	first := int(r.run.FirstSeq) - 1
	var carried []history.Event
	if opening, ok := r.events[first].Data.(*history.RunContinued); ok {
		for _, span := range opening.Carried() {
			carried = append(carried, r.events[span.From-1:span.To]...)
		}
	}
	return history.Fold(r.key, carried, r.events[first:])
}
