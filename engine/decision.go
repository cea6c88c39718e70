package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Decision is what one call of a Workflow returns: everything the run waits for now, and everything it wants done.
//
// Waits and timers are claims: what is open and not named again is withdrawn. Hooks, steps, children and calls are
// resources: opened by naming them once, they live until they settle or are withdrawn. Naming a settled thing again
// changes nothing.
//
// The methods of Context make decisions and Await joins them. The zero Decision, which a forgotten return gives, blocks
// the run. So does a decision made with a bad argument: no method panics or returns an error of its own.
type Decision struct {
	commands []history.Command
	err      error // the first bad argument
}

func decide(c history.Command, err error) Decision {
	if err != nil {
		return Decision{err: err}
	}
	return Decision{commands: []history.Command{c}}
}

// Await names several things at once, in the order given: a race, a join and N-of-M are all one Await, and the code
// looks at what settled. It takes any decisions; an ending must be the last. An ID that is named twice must be named
// alike, or the run is blocked.
func (c *Context) Await(ds ...Decision) Decision {
	c.use()
	var all Decision
	for _, d := range ds {
		if all.err == nil {
			all.err = d.err
		}
		all.commands = append(all.commands, d.commands...)
	}
	return all
}

// All is Await under the name that reads right where nothing is awaited:
// ctx.All(ctx.DisposeHook("other"), ctx.Complete(result)).
func (c *Context) All(ds ...Decision) Decision { return c.Await(ds...) }

// WaitForSignal claims the next unread signal of a name that the workflow's spec declares; at most one of Timeout and
// Until bounds it. A signal that was accepted before the wait opened is taken too. The deadline is fixed when the ID is
// first named in the generation.
func (c *Context) WaitForSignal(waitID, name string, opts ...WaitOption) Decision {
	c.use()
	w := &history.OpenWait{ID: spec.WaitID(waitID), Signal: name}
	err := w.ID.Validate()
	if err == nil {
		err = c.declared(name)
	}
	for _, opt := range opts {
		if err == nil {
			err = opt.wait(w)
		}
	}
	return decide(w, c.wrong("WaitForSignal", waitID, err))
}

func (c *Context) declared(name string) error {
	if _, ok := c.spec.Signal(name); !ok {
		return fmt.Errorf("signal %q: %w", name, ErrSignalUndeclared)
	}
	return nil
}

// WaitForHook names a hook that was created before, without opening it. A hook that was never created blocks the run.
func (c *Context) WaitForHook(hookID string) Decision {
	c.use()
	w := &history.WaitHook{ID: spec.HookID(hookID)}
	return decide(w, c.wrong("WaitForHook", hookID, w.ID.Validate()))
}

// CreateHook opens a hook: something an outside party answers through a secret token, or a caller by run and hook ID.
// Its ID is unique for the life of the run, over generations too. Naming a known hook again changes nothing but says
// that the run waits for it. A token that is already taken is a branch, not a failure: see HookRejected.
func (c *Context) CreateHook(hookID string, opts ...HookOption) Decision {
	st := c.use()
	h := &hookDraft{command: history.CreateHook{ID: spec.HookID(hookID)}, keys: c.keys}
	err := h.command.ID.Validate()
	if err == nil {
		h.known = st.KnowsHook(h.command.ID)
	}
	for _, opt := range opts {
		if err == nil {
			err = opt.hook(h)
		}
	}
	return decide(&h.command, c.wrong("CreateHook", hookID, err))
}

// DisposeHook withdraws a hook: its token answers gone from then on. On a hook that is settled or was never created it
// changes nothing but that a settled one counts as asked about.
func (c *Context) DisposeHook(hookID string) Decision {
	c.use()
	w := &history.WithdrawHook{ID: spec.HookID(hookID)}
	return decide(w, c.wrong("DisposeHook", hookID, w.ID.Validate()))
}

// Timer is a durable deadline, d from the turn that first names it. It fires within 2 s of its due time while a process
// that registers the workflow lives, usually within 50 ms.
func (c *Context) Timer(timerID string, d time.Duration) Decision {
	c.use()
	t := &history.StartTimer{ID: spec.TimerID(timerID), In: &d}
	return decide(t, c.wrong("Timer", timerID, errors.Join(t.ID.Validate(), checkDuration(d))))
}

// TimerUntil is a durable deadline at a time; one that is past fires at once.
func (c *Context) TimerUntil(timerID string, at time.Time) Decision {
	c.use()
	t := &history.StartTimer{ID: spec.TimerID(timerID), At: &at}
	return decide(t, c.wrong("TimerUntil", timerID, errors.Join(t.ID.Validate(), checkTime(at))))
}

// Sleep is Timer under the name that reads right where it is awaited alone.
func (c *Context) Sleep(timerID string, d time.Duration) Decision { return c.Timer(timerID, d) }

// SleepUntil is TimerUntil under the name that reads right where it is awaited alone.
func (c *Context) SleepUntil(timerID string, at time.Time) Decision { return c.TimerUntil(timerID, at) }

// Complete ends the run with an output, which must encode as JSON of at most 4 MiB. Open hooks close with the cause
// run_ended.
func (c *Context) Complete(output any) Decision {
	c.use()
	p, err := canon.Marshal(output)
	return decide(&history.Complete{Output: p}, c.wrong("Complete", "", encodeError(err)))
}

// Fail ends the run as failed, with the error's text cut to 1 KiB. Returning an error instead blocks the run and tries
// again.
func (c *Context) Fail(err error) Decision {
	c.use()
	if err == nil {
		return Decision{err: c.wrong("Fail", "", errors.New("the error must not be nil"))}
	}
	return decide(&history.Fail{Message: diagnosis(err.Error())}, nil)
}

// Cancelled ends a run whose cancellation was requested: see CancelRequested. Without a request it blocks the run.
func (c *Context) Cancelled() Decision {
	c.use()
	return decide(&history.AcceptCancel{}, nil)
}

// ContinueAsNew closes the generation and opens the next one of the same run, with a new input of at most 4 MiB of JSON
// and an empty history. Open hooks, answers not yet asked about and unread signals go over; waits and timers end.
func (c *Context) ContinueAsNew(input any) Decision {
	c.use()
	p, err := canon.Marshal(input)
	return decide(&history.ContinueAsNew{Input: p}, c.wrong("ContinueAsNew", "", encodeError(err)))
}

// wrong says which decision got a bad argument.
func (c *Context) wrong(method, id string, err error) error {
	switch {
	case err == nil:
		return nil
	case id == "":
		return fmt.Errorf("%s: %w", method, err)
	default:
		return fmt.Errorf("%s(%q): %w", method, clip(id, 64), err)
	}
}

// encodeError words why a value has no JSON form, without the value: the text ends in a diagnosis.
func encodeError(err error) error {
	var unsupported *json.UnsupportedTypeError
	var payload *PayloadError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unsupported):
		return fmt.Errorf("values of type %s have no JSON form", unsupported.Type)
	case errors.As(err, &payload), errors.Is(err, ErrPayloadTooLarge):
		return err
	default:
		return fmt.Errorf("the value does not encode as JSON (%T)", errors.Unwrap(err))
	}
}
