package proof

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// modelRun is one run of the model: its records and its events.
type modelRun struct {
	run     history.Run
	fresh   bool
	auth    authority
	signals map[spec.SignalID]history.Signal
	hooks   map[spec.HookID]history.Hook
	updates map[spec.UpdateID]history.Update
	tasks   map[history.TaskKey]*TaskRow
	letters []LetterRow
	events  []history.Event
}

func newModelRun(m *Model, s *history.StartRun, auth authority) *modelRun {
	return &modelRun{
		run: history.Run{
			Key: s.Run, Workflow: s.Workflow, Version: s.Version, SpecDigest: s.SpecDigest, InputDigest: s.Input.Digest(),
			Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: 1, StartedAt: m.Now, UpdatedAt: m.Now,
		},
		fresh: true, auth: auth, signals: map[spec.SignalID]history.Signal{}, hooks: map[spec.HookID]history.Hook{},
		updates: map[spec.UpdateID]history.Update{}, tasks: map[history.TaskKey]*TaskRow{},
	}
}

var errRefusedChanged = errors.New("a refused message changed something")

func (r *modelRun) accept(m *Model, msg history.Message) (history.Receipt, error) {
	rec := &history.Records{
		Run: r.run, Known: true, Fresh: r.fresh, Signals: maps.Clone(r.signals), Hooks: maps.Clone(r.hooks),
		Updates: maps.Clone(r.updates), Tasks: r.openTasks(),
	}
	for _, u := range r.updates {
		if u.State == history.UpdateIsOpen {
			rec.OpenUpdates++
		}
	}
	receipt, err := rec.Accept(msg, r.auth, m.Limits, m.timeOf(r))
	if err != nil {
		if rec.Changed() {
			return history.Receipt{}, errRefusedChanged
		}
		return history.Receipt{}, err
	}
	r.run, r.fresh = rec.Run, false
	for _, id := range rec.NewSignals {
		r.signals[id] = rec.Signals[id]
	}
	for id := range rec.ChangedHooks {
		r.hooks[id] = rec.Hooks[id]
	}
	for _, id := range slices.Concat(rec.NewUpdates, rec.EndedUpdates) {
		r.updates[id] = rec.Updates[id]
	}
	r.settled(m, rec)
	return receipt, r.append(rec.Events)
}

// append stores events by way of their encoding.
func (r *modelRun) append(events []history.Event) error {
	for _, e := range events {
		enc, err := history.Encode(e)
		if err != nil {
			return err
		}
		enc.Data = bytes.Clone(enc.Data)
		back, err := history.Decode(e.Generation, e.Seq, e.At, enc)
		if err != nil {
			return err
		}
		if want := int64(len(r.events)) + 1; back.Seq != want {
			return fmt.Errorf("event %d appended, want %d", back.Seq, want)
		}
		r.events = append(r.events, back)
	}
	return nil
}

// state folds the current generation.
func (r *modelRun) state() (*history.State, error) {
	var carried, events []history.Event
	for _, e := range r.events {
		if e.Generation == r.run.Generation {
			events = append(events, e)
		}
	}
	if c, ok := events[0].Data.(*history.RunContinued); ok {
		for _, span := range c.Carried() {
			carried = append(carried, r.events[span.From-1:span.To]...)
		}
	}
	return history.Fold(r.run.Key, carried, events)
}

// turn takes one turn.
func (r *modelRun) turn(m *Model) error {
	out, err := r.outcome(m)
	if err != nil {
		return err
	}
	r.run = out.Run
	for _, c := range out.Consumed {
		s := r.signals[c.Signal]
		if s.ConsumedBy != nil {
			return fmt.Errorf("signal %s is consumed twice", c.Signal)
		}
		s.ConsumedBy = new(c.By)
		r.signals[c.Signal] = s
	}
	for _, h := range out.ClosedHooks {
		if row := r.hooks[h.ID]; row.State != history.StateActive {
			return fmt.Errorf("hook %s closes, and its record says %q", h.ID, row.State)
		}
		r.hooks[h.ID] = h
	}
	if err := r.answered(out.EndedUpdates); err != nil {
		return err
	}
	for _, h := range out.NewHooks {
		r.hooks[h.ID] = h
		m.tokens[h.Grant.Digest], m.won[h.Grant.Digest] = hookKey{r.run.Key, h.ID}, true
	}
	if err := r.append(out.Events); err != nil {
		return err
	}
	return r.scheduled(m, out)
}

// answered ends updates.
func (r *modelRun) answered(updates []history.Update) error {
	for _, u := range updates {
		row := r.updates[u.ID]
		if row.State != history.UpdateIsOpen {
			return fmt.Errorf("update %s ends, and its record says %q", u.ID, row.State)
		}
		row.State, row.ResolvedAt, row.ResolvedSeq = u.State, u.ResolvedAt, u.ResolvedSeq
		r.updates[u.ID] = row
	}
	return nil
}

// decide runs the code until it is quiet.
func (r *modelRun) decide(m *Model, rejected map[spec.HookID]history.Rejection) (history.Outcome, error) {
	s, err := r.state()
	if err != nil {
		return history.Outcome{}, err
	}
	t, err := history.NewTurn(s, r.run, m.timeOf(r), m.Limits, rejected)
	if err != nil {
		return history.Outcome{}, err
	}
	for t.Next() {
		wishes, block := call(t.State(), m.broken[r.run.Key])
		if block != nil {
			t.Block(block.Cause, block.Diagnosis)
			break
		}
		d, err := m.decision(t.State(), wishes)
		if err != nil {
			return history.Outcome{}, err
		}
		t.Decide(d)
	}
	return t.Finish(), nil
}

// Panicked is the diagnosis of code that panics. Drivers cut what follows it, which names a place in a program.
const Panicked = "the workflow function panicked"

// call calls the code once.
func call(s *history.State, broken string) (wishes []Wish, block *history.RunBlocked) {
	defer func() {
		if recover() != nil {
			wishes, block = nil, &history.RunBlocked{Cause: history.BlockPanic, Diagnosis: Panicked}
		}
	}()
	wishes, err := ReadCode(s.Input().Bytes()).Decide(sight{s}, broken)
	if err != nil {
		return nil, &history.RunBlocked{Cause: history.BlockError, Diagnosis: err.Error()}
	}
	return wishes, nil
}

// decision translates wishes, and mints the tokens of hooks that they open.
func (m *Model) decision(s *history.State, wishes []Wish) (history.Decision, error) {
	var d history.Decision
	for _, w := range wishes {
		c, err := m.command(s, w)
		if err != nil {
			return d, err
		}
		d.Commands = append(d.Commands, c)
	}
	return d, nil
}

func (m *Model) command(s *history.State, w Wish) (history.Command, error) {
	switch w.Do {
	case "wait":
		return &history.OpenWait{ID: spec.WaitID(w.ID), Signal: w.Name, Timeout: w.In, Until: w.At}, nil
	case "timer":
		return &history.StartTimer{ID: spec.TimerID(w.ID), In: w.In, At: w.At}, nil
	case "wait-hook":
		return &history.WaitHook{ID: spec.HookID(w.ID)}, nil
	case "dispose-hook":
		return &history.WithdrawHook{ID: spec.HookID(w.ID)}, nil
	case "create-hook":
		return m.createHook(s, w), nil
	case "wait-update":
		return &history.WaitUpdate{Name: w.Name}, nil
	case "answer":
		output, err := canon.Marshal(w.Value)
		return &history.CompleteUpdate{ID: spec.UpdateID(w.ID), Output: output}, err
	case "reject":
		return &history.RejectUpdate{ID: spec.UpdateID(w.ID), Message: w.Message}, nil
	case "step":
		input, err := canon.Marshal(w.Value)
		return &history.ScheduleStep{
			ID: spec.StepID(w.ID), Name: w.Name, Input: input, Retry: w.Retry, StartToClose: StartToClose, ScheduleToClose: w.In,
		}, err
	case "cancel-step":
		return &history.WithdrawStep{ID: spec.StepID(w.ID)}, nil
	case "fail":
		return &history.Fail{Message: w.Message}, nil
	case "cancelled":
		return &history.AcceptCancel{}, nil
	case "complete":
		output, err := canon.Marshal(w.Value)
		return &history.Complete{Output: output}, err
	case "continue":
		input, err := canon.Marshal(w.Value)
		return &history.ContinueAsNew{Input: input}, err
	}
	return nil, fmt.Errorf("no such wish: %s", w.Do)
}

// KeyID names the one key of the tokens, in all drivers.
const KeyID = "k1"

// HookContext is the metadata of the hooks of traces. Some are asked for by who answers, who may not, and some by somebody
// else.
func HookContext(hook string) spec.HookMetadata {
	m := spec.HumanApproval("proof").WithLabel("hook", hook).WithData("asks", "for "+hook)
	switch strings.TrimPrefix(hook, "h") {
	case "21":
		return m.WithRequester(strings.ToUpper(Actor)).WithRule(1, 2)
	case "10", "20":
		return m.WithRequester("somebody else")
	}
	return m
}

// selfApproved says that an actor asked for the answer to a hook.
func selfApproved(hook, actor string) bool {
	return strings.EqualFold(HookContext(hook).Requester, actor)
}

func (m *Model) createHook(s *history.State, w Wish) history.Command {
	c := &history.CreateHook{ID: spec.HookID(w.ID), Name: w.Name, Metadata: HookContext(w.ID), In: w.In, At: w.At}
	switch {
	case w.Token != "":
		c.Grant = history.TokenGrant{Digest: m.Digest(w.Token), DigestKey: KeyID}
		c.HostDigests = []history.TokenDigest{c.Grant.Digest}
	case !s.KnowsHook(c.ID):
		m.minted++
		c.Grant = history.TokenGrant{DigestKey: KeyID, MintKey: KeyID, Nonce: fmt.Append(nil, m.minted)}
		copy(c.Grant.Digest[:], fmt.Sprint("minted ", m.minted))
	}
	return c
}
