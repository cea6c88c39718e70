package engine

import (
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Rehearsal drives one run of a workflow in memory, under a clock that its user moves. What it accepts, the turns it
// takes and the code that calls the workflow are those of an Engine in Dev mode; only the database is missing. Package
// enginetest is a Rehearsal for tests. It is not safe for concurrent use.
type Rehearsal struct {
	exec *executor
	code registration
	auth *authority
	now  time.Time

	key     history.RunKey
	run     history.Run
	events  []history.Event
	signals map[spec.SignalID]history.Signal
	hooks   map[spec.HookID]history.Hook
	tasks   map[history.TaskKey]history.Task
	held    bool
	updates map[spec.UpdateID]history.Update
}

// RehearsalConfig is what a Rehearsal is made of. Every field is required but Limits, CallBudget and Logger, whose zero
// values are the defaults of Config, and Code.
type RehearsalConfig struct {
	Namespace  spec.Namespace
	RunID      spec.RunID
	Now        time.Time // when the rehearsal begins
	Keys       *tokens.Keyring
	Random     io.Reader
	Limits     Limits
	CallBudget time.Duration
	Logger     zerolog.Logger
	Code       []CodeOption // the handlers of the spec's queries
	// FromTop calls the function from its beginning every time, as if each call were the first of a turn: a workflow of
	// package flow, which goes on where it waits, must decide alike.
	FromTop bool
}

// Rehearse prepares a run. Errors: *InvalidError for a malformed spec, schema, namespace or run ID, a declared query
// without a handler and a handler of an undeclared one.
func Rehearse(s spec.WorkflowSpec, fn Workflow, cfg RehearsalConfig) (*Rehearsal, error) {
	key := history.RunKey{Namespace: cfg.Namespace, RunID: cfg.RunID}
	if err := errors.Join(s.Validate(), key.Namespace.Validate(), key.RunID.Validate()); err != nil {
		return nil, err
	}
	s = s.Normalized()
	auth, err := newAuthority(s)
	if err != nil {
		return nil, err
	}
	code, err := newRegistration(auth, fn, cfg.Code)
	if err != nil {
		return nil, err
	}
	exec := newExecutor(Config{
		Keys: cfg.Keys, Random: cfg.Random, Limits: cfg.Limits, Dev: true, Logger: cfg.Logger,
		CallBudget: or(cfg.CallBudget, defaultCallBudget), BatchBudget: time.Hour,
	})
	exec.fromTop = cfg.FromTop
	return &Rehearsal{
		exec: exec,
		code: code, auth: auth, now: cfg.Now.UTC().Truncate(time.Microsecond), key: key,
		signals: map[spec.SignalID]history.Signal{}, hooks: map[spec.HookID]history.Hook{},
		tasks:   map[history.TaskKey]history.Task{},
		updates: map[spec.UpdateID]history.Update{},
	}, nil
}

// Start is Handle.Start; then the run goes on until it is quiet, as after every message.
func (r *Rehearsal) Start(input []byte, labels spec.Labels) (Receipt, error) {
	payload, err := r.parse(input)
	if err != nil {
		return Receipt{}, err
	}
	m := &history.StartRun{
		Run: r.key, Workflow: r.code.spec.Name, Version: r.code.spec.Version, Input: payload, Labels: labels,
	}
	if r.begun() {
		return r.accept(m)
	}
	if err := errors.Join(labels.Validate(), r.auth.CheckInput(payload)); err != nil {
		return Receipt{}, err
	}
	r.run = history.Run{
		Key: r.key, Workflow: m.Workflow, Version: m.Version, InputDigest: payload.Digest(), Labels: labels,
		Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: 1, StartedAt: r.now, UpdatedAt: r.now,
	}
	return r.accept(m)
}

// SendSignal is Handle.SendSignal.
func (r *Rehearsal) SendSignal(id spec.SignalID, name string, payload []byte) (Receipt, error) {
	p, err := r.parse(payload)
	if err := errors.Join(id.Validate(), spec.CheckName("name", name), err); err != nil {
		return Receipt{}, err
	}
	return r.accept(&history.SendSignal{Run: r.key, ID: id, Name: name, Payload: p})
}

// ResumeHook is Handle.ResumeHook without an actor.
func (r *Rehearsal) ResumeHook(id spec.HookID, payload []byte) (Receipt, error) {
	return r.ResumeHookAs("", id, payload)
}

// ResumeHookAs is Handle.ResumeHook by an actor.
func (r *Rehearsal) ResumeHookAs(actor string, id spec.HookID, payload []byte) (Receipt, error) {
	p, err := r.parse(payload)
	if err := errors.Join(id.Validate(), checkSource("", actor), err); err != nil {
		return Receipt{}, err
	}
	return r.accept(&history.ResumeHook{Run: r.key, HookID: id, Payload: p, Actor: actor})
}

// DisposeHook is Handle.DisposeHook.
func (r *Rehearsal) DisposeHook(id spec.HookID) (Receipt, error) {
	if err := id.Validate(); err != nil {
		return Receipt{}, err
	}
	return r.accept(&history.DisposeHook{Run: r.key, HookID: id})
}

// Cancel is Handle.Cancel.
func (r *Rehearsal) Cancel(reason string) (Receipt, error) {
	return r.accept(&history.CancelRun{Run: r.key, Reason: reason})
}

// Terminate is Handle.Terminate.
func (r *Rehearsal) Terminate(reason string) (Receipt, error) {
	return r.accept(&history.CancelRun{Run: r.key, Terminate: true, Reason: reason})
}

// Retry is Handle.Retry.
func (r *Rehearsal) Retry() error {
	_, err := r.accept(&history.RetryRun{Run: r.key})
	return err
}

// Swap puts another function in the place of the run's, as a deployment does.
func (r *Rehearsal) Swap(fn Workflow) { r.code.fn = fn }

// Hold lets messages be accepted and time pass without a turn, as where no process is alive that registers the workflow.
func (r *Rehearsal) Hold() { r.held = true }

// Release ends Hold: the run goes on until it is quiet.
func (r *Rehearsal) Release() error {
	r.held = false
	return r.settle()
}

// Now is the rehearsal's time.
func (r *Rehearsal) Now() time.Time { return r.now }

// Advance moves the clock on by d and stops at every time in between at which something is due.
func (r *Rehearsal) Advance(d time.Duration) error {
	target := r.now.Add(d)
	for !r.held && r.run.WakeAt != nil && !r.run.WakeAt.After(target) {
		if r.run.WakeAt.After(r.now) {
			r.now = *r.run.WakeAt
		}
		if err := r.settle(); err != nil {
			return err
		}
	}
	r.now = target
	return nil
}

// Snapshot is Handle.Snapshot. Before Start it is ErrRunNotFound.
func (r *Rehearsal) Snapshot() (Snapshot, error) {
	if !r.begun() {
		return Snapshot{}, ErrRunNotFound
	}
	s := summarize(r.run).snapshot()
	st, err := r.fold()
	if err != nil {
		return Snapshot{}, err
	}
	s.Input = st.Input().Bytes()
	switch end := r.events[len(r.events)-1].Data.(type) {
	case *history.RunCompleted:
		s.Output = end.Output.Bytes()
	case *history.RunFailed:
		s.Error = end.Message
	}
	if !r.run.Status.Ended() {
		s.Waiting = waitingFor(st.Waiting())
	}
	return s, nil
}

// History lists the events of all generations, oldest first.
func (r *Rehearsal) History() ([]HistoryEvent, error) {
	p, err := showHistory(r.events, len(r.events))
	return p.Events, err
}

// Receipt is Handle.Receipt.
func (r *Rehearsal) Receipt(id spec.SignalID) (SignalReceipt, error) {
	s, ok := r.signals[id]
	if !ok {
		return SignalReceipt{}, ErrSignalNotFound
	}
	return showSignal(r.key.RunID, r.run.Status, s), nil
}

// Hook is Handle.Hook.
func (r *Rehearsal) Hook(id spec.HookID) (HookView, error) {
	h, ok := r.hooks[id]
	if !ok {
		return HookView{}, ErrHookNotFound
	}
	return showHook(r.key.RunID, h, r.now), nil
}

// Token is the secret of a minted hook, ErrTokenNotMinted or ErrHookNotFound.
func (r *Rehearsal) Token(id spec.HookID) (tokens.Secret, error) {
	h, ok := r.hooks[id]
	switch {
	case !ok:
		return tokens.Secret{}, ErrHookNotFound
	case h.Grant.MintKey == "":
		return tokens.Secret{}, ErrTokenNotMinted
	}
	return remint(r.exec.keys, r.key, h)
}

func (r *Rehearsal) begun() bool { return r.run.NextSeq > 0 }
