package engine_test

import (
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
	"github.com/flowgate-go/flowgate/spec"
)

// breakCode breaks the code of one run, or mends it.
func (w *world) breakCode(key history.RunKey, how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[key] = how
}

// code is the author's code of every trace.
func (w *world) code(c *engine.Context) (engine.Decision, error) {
	w.mu.Lock()
	broken := w.broken[history.RunKey{Namespace: c.Namespace(), RunID: c.RunID()}]
	w.mu.Unlock()
	wishes, err := proof.ReadCode(c.Input()).Decide(worldSight{c}, broken)
	if err != nil || len(wishes) == 0 {
		return engine.Decision{}, err
	}
	decisions := make([]engine.Decision, len(wishes))
	for i, wish := range wishes {
		decisions[i] = decisionOf(c, wish)
	}
	return c.Await(decisions...), nil
}

// worldSight shows a run to the code of traces through a Context.
type worldSight struct{ *engine.Context }

func (s worldSight) Peek(name string) int { return len(s.Signals(name)) }

func (s worldSight) Wait(id string) (payload string, done, late bool) {
	raw, done, err := engine.SignalPayload[rawJSON](s.Context, id)
	if err != nil {
		panic(err)
	}
	return string(raw), done, s.WaitTimedOut(id)
}

func (s worldSight) Asked(name string) []proof.Ask { return asks(s.Updates(name)) }

func (s worldSight) Answered(name string) []proof.Ask { return asks(s.CompletedUpdates(name)) }

func asks(updates []engine.Update) []proof.Ask {
	var all []proof.Ask
	for _, u := range updates {
		all = append(all, proof.Ask{ID: string(u.ID), Payload: string(u.Arg), Result: string(u.Result)})
	}
	return all
}

func (s worldSight) Fired(timer string) bool { return s.TimerFired(timer) }

func (s worldSight) Step(id string) (state, told string) {
	if f, failed := s.StepFailed(id); failed {
		return "failed", fmt.Sprintf("%s %s %s %d", f.Reason, f.Code, f.Message, f.Attempt)
	}
	raw, done, err := engine.StepOutput[rawJSON](s.Context, id)
	switch {
	case err != nil:
		panic(err)
	case done:
		return "done", string(raw)
	case s.StepCancelled(id):
		return "cancelled", ""
	}
	return "none", ""
}

func (s worldSight) Hook(id string) (state, told string) {
	at := s.HookState(id)
	switch at {
	case engine.Rejected:
		r, _ := s.HookRejected(id)
		told = string(r.Reason) + " " + string(r.OwnerRun)
	case engine.Answered:
		raw, _, err := engine.HookPayload[rawJSON](s.Context, id)
		if err != nil {
			panic(err)
		}
		told = string(raw)
	}
	return string(at), told
}

// rawJSON is a value as it was received.
type rawJSON string

func (r *rawJSON) UnmarshalJSON(text []byte) error {
	*r = rawJSON(text)
	return nil
}

func decisionOf(c *engine.Context, w proof.Wish) engine.Decision {
	switch w.Do {
	case "wait":
		switch {
		case w.In != nil:
			return c.WaitForSignal(w.ID, w.Name, engine.Timeout(*w.In))
		case w.At != nil:
			return c.WaitForSignal(w.ID, w.Name, engine.Until(*w.At))
		}
		return c.WaitForSignal(w.ID, w.Name)
	case "timer":
		if w.In != nil {
			return c.Timer(w.ID, *w.In)
		}
		return c.TimerUntil(w.ID, *w.At)
	case "wait-hook":
		return c.WaitForHook(w.ID)
	case "dispose-hook":
		return c.DisposeHook(w.ID)
	case "create-hook":
		return c.CreateHook(w.ID, hookOptions(w)...)
	case "wait-update":
		return c.WaitForUpdate(w.Name)
	case "answer":
		return c.CompleteUpdate(spec.UpdateID(w.ID), w.Value)
	case "reject":
		return c.RejectUpdate(spec.UpdateID(w.ID), errors.New(w.Message))
	case "step":
		if w.In != nil {
			return c.RunStep(w.ID, w.Name, w.Value, w.Retry, engine.ScheduleToClose(*w.In))
		}
		return c.RunStep(w.ID, w.Name, w.Value, w.Retry)
	case "cancel-step":
		return c.CancelStep(w.ID)
	case "complete":
		return c.Complete(w.Value)
	case "continue":
		return c.ContinueAsNew(w.Value)
	case "fail":
		return c.Fail(errors.New(w.Message))
	case "cancelled":
		return c.Cancelled()
	}
	panic("no such wish: " + w.Do)
}

func hookOptions(w proof.Wish) []engine.HookOption {
	opts := []engine.HookOption{engine.As(w.Name), engine.Metadata(proof.HookContext(w.ID))}
	if w.In != nil {
		opts = append(opts, engine.ExpiresIn(*w.In))
	}
	if w.At != nil {
		opts = append(opts, engine.ExpiresAt(*w.At))
	}
	if w.Token != "" {
		opts = append(opts, engine.Token(w.Token))
	}
	return opts
}
