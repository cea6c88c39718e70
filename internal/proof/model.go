package proof

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Model does operations in memory: it keeps the records and events of all runs of a trace, asks package history for
// every rule, and has a clock that only Pass moves. It is for one goroutine.
type Model struct {
	// Trace names the trace; see Namespace.
	Trace string
	// Now is the model's clock. It may be set back; the time of one run never goes back.
	Now time.Time
	// Limits are those of its runs.
	Limits history.Limits
	// Digest is the digest of a token that the host supplies.
	Digest func(token string) history.TokenDigest
	// Holder says which hook of which run won a token of the host where several wanted it at the same time: the one thing
	// that the order of turns decides. It may be nil.
	Holder func(history.TokenDigest) (history.RunKey, spec.HookID, bool)
	// Stored gives the events of a run from a seq on, as EventLine words them: whether the loser of a token was decided
	// before or after the winner shows in nothing else. It may be nil.
	Stored func(run history.RunKey, from int64) []string

	// Seed is what the chance of a step's pauses comes from.
	Seed func(run history.RunKey, generation int, step string) string
	// Outcome says which step the event of a seq is the outcome of, if it is one: of several steps that are done at the
	// same time, the order is the engine's. It may be nil.
	Outcome func(run history.RunKey, seq int64) (spec.StepID, bool)

	runs   map[history.RunKey]*modelRun
	order  []history.RunKey // as started
	tokens map[history.TokenDigest]hookKey
	won    map[history.TokenDigest]bool // of them, in this round of turns
	broken map[history.RunKey]string
	minted int
}

type hookKey struct {
	run  history.RunKey
	hook spec.HookID
}

// Do does one operation. Turns are taken by the operation Turns only. The error says that the model itself is at fault.
func (m *Model) Do(o Operation) (Answer, error) {
	switch o.Verb {
	case Pass:
		m.Now = m.Now.Add(o.For)
		return Answer{}, nil
	case Turns:
		return Answer{}, m.turns()
	case Work:
		return Answer{}, m.work()
	case Restart:
		if o.Name == Bare {
			return Answer{}, nil
		}
		for _, r := range m.runs {
			if r.run.Status == history.Blocked && r.run.WakeAt.After(m.Now) {
				r.run.WakeAt = new(m.Now) // a process that brings code makes its blocked runs due
			}
		}
		return Answer{}, nil
	case Break, Mend:
		if m.broken == nil {
			m.broken = map[history.RunKey]string{}
		}
		m.broken[o.Key(m.Trace)] = o.Name
		return Answer{}, nil
	case Snapshot, Receipt, Fate, Hook, Events:
		words, err := m.read(o)
		if err != nil {
			return refusal(err), nil
		}
		return Answer{Verdict: history.Accepted, Words: words}, nil
	default:
		return m.answer(o), nil
	}
}

func refusal(err error) Answer { return Answer{Verdict: verdictOf(err), Words: err.Error()} }

// answer delivers a message and words what becomes of it.
func (m *Model) answer(o Operation) Answer {
	receipt, err := m.accept(o)
	if o.Verb == Retry && err == nil {
		return Answer{Verdict: history.Accepted} // there is no receipt of it
	}
	return AnswerOf(receipt, err, verdictOf, error.Error)
}

// accept delivers a message.
func (m *Model) accept(o Operation) (history.Receipt, error) {
	if o.Verb == Start {
		return m.start(o)
	}
	key := o.Key(m.Trace)
	var payload canon.Payload
	if o.carries() {
		var err error
		if payload, err = canon.Parse([]byte(o.Payload), canon.Limits{}); err != nil {
			return history.Receipt{}, err
		}
	}
	if o.Holder == Other {
		return history.Receipt{}, history.ErrTokenNotFound
	}
	r := m.runs[key]
	if r == nil {
		return history.Receipt{}, byToken(o, history.ErrRunNotFound)
	}
	receipt, err := r.accept(m, message(o, key, payload))
	return receipt, byToken(o, err)
}

// byToken hides from the holder of a token what is not there.
func byToken(o Operation, err error) error {
	if o.Holder != ByIDs && (errors.Is(err, history.ErrRunNotFound) || errors.Is(err, history.ErrHookNotFound)) {
		return history.ErrTokenNotFound
	}
	return err
}

func message(o Operation, key history.RunKey, payload canon.Payload) history.Message {
	hook, stranger := spec.HookID(o.ID), o.Holder == Stranger
	switch o.Verb {
	case Signal:
		return &history.SendSignal{Run: key, ID: spec.SignalID(o.ID), Name: o.Name, Payload: payload, Source: Source, Actor: Actor}
	case Update:
		return &history.SendUpdate{Run: key, ID: spec.UpdateID(o.ID), Name: o.Name, Payload: payload, Source: Source, Actor: Actor}
	case Resume:
		return &history.ResumeHook{Run: key, HookID: hook, Payload: payload, ByToken: stranger, Source: Source, Actor: Actor}
	case Dispose:
		return &history.DisposeHook{Run: key, HookID: hook, ByToken: stranger, Source: Source, Actor: Actor}
	case Cancel, End:
		return &history.CancelRun{Run: key, Terminate: o.Verb == End, Reason: Reason, Actor: Actor}
	case Retry:
		return &history.RetryRun{Run: key}
	default:
		panic("proof: no message: " + string(o.Verb))
	}
}

// What messages say beside their content.
const (
	Source = "proof"
	Actor  = "a caller"
	Reason = "no longer wanted"
)

func (m *Model) start(o Operation) (history.Receipt, error) {
	input, err := canon.Parse([]byte(o.Payload), canon.Limits{})
	if err != nil {
		return history.Receipt{}, err
	}
	msg := &history.StartRun{
		Run: o.Key(m.Trace), Workflow: o.Name, Version: o.Version, NamedVersion: o.Version != "", Input: input, Actor: Actor,
	}
	r := m.runs[msg.Run]
	s, registered := specOf(o.Name, o.Version)
	switch {
	case registered:
		msg.Version = s.Version
		if msg.SpecDigest, err = digestOf(s); err != nil {
			return history.Receipt{}, err
		}
	case r == nil:
		return history.Receipt{}, ErrWorkflowNotFound
	}
	if r != nil {
		return r.accept(m, msg)
	}
	r = newModelRun(m, msg, authority{s})
	if m.runs == nil {
		m.runs, m.tokens = map[history.RunKey]*modelRun{}, map[history.TokenDigest]hookKey{}
	}
	m.runs[msg.Run], m.order = r, append(m.order, msg.Run)
	return r.accept(m, msg)
}

// specOf finds a registered spec; no version means the last one.
func specOf(name, version string) (spec.WorkflowSpec, bool) {
	for _, s := range slices.Backward(Specs()) {
		if s.Name == name && (version == "" || s.Version == version) {
			return s, true
		}
	}
	return spec.WorkflowSpec{}, false
}

func digestOf(s spec.WorkflowSpec) (canon.Digest, error) {
	document, err := canon.Marshal(s.Normalized())
	return document.Digest(), err
}

// timeOf is the time of what happens to the run now.
func (m *Model) timeOf(r *modelRun) time.Time {
	if r.run.UpdatedAt.After(m.Now) {
		return r.run.UpdatedAt
	}
	return m.Now
}

// turns takes the turns of all runs until none is due.
func (m *Model) turns() error {
	m.won = map[history.TokenDigest]bool{}
	for _, key := range m.order {
		r := m.runs[key]
		for n := 0; r.due(m); n++ {
			if err := r.turn(m); err != nil {
				return fmt.Errorf("turn of %s/%s: %w", key.Namespace, key.RunID, err)
			}
			if n == 1000 {
				return fmt.Errorf("run %s/%s never gets quiet", key.Namespace, key.RunID)
			}
		}
	}
	return nil
}

// Runs lists the runs in the order in which they were started.
func (m *Model) Runs() []history.RunKey { return slices.Clone(m.order) }

// authority judges messages by a spec, with the one schema that there is.
type authority struct{ spec.WorkflowSpec }

// CheckSignal implements history.Authority.
func (a authority) CheckSignal(name string, p canon.Payload) error {
	if _, ok := a.Signal(name); !ok {
		return history.ErrSignalUndeclared
	}
	return checkTyped(name, p)
}

// CheckUpdate implements history.Authority.
func (a authority) CheckUpdate(name string, p canon.Payload) error {
	if _, ok := a.Update(name); !ok {
		return history.ErrUpdateUndeclared
	}
	return checkTyped(name, p)
}

// CheckHook implements history.Authority.
func (a authority) CheckHook(name string, p canon.Payload) error { return checkTyped(name, p) }

// CooperativeCancel implements history.Authority.
func (a authority) CooperativeCancel() bool { return a.WorkflowSpec.CooperativeCancel }

func checkTyped(name string, p canon.Payload) error {
	if name == "typed" && !integer(class(string(p.Bytes()))) {
		return ErrSchema
	}
	return nil
}
