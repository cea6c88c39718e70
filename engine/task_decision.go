package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// The time of one attempt of a step that names none, and the longest there is.
const (
	defaultStartToClose = 10 * time.Minute
	maxStepTime         = 30 * 24 * time.Hour
)

// StepOption bounds the time of a step.
type StepOption interface {
	step(*history.ScheduleStep) error
}

type stepOption func(*history.ScheduleStep) error

func (o stepOption) step(s *history.ScheduleStep) error { return o(s) }

// StartToClose bounds one attempt, from its beginning on; without it an attempt has 10 minutes. At most 30 days.
func StartToClose(d time.Duration) StepOption {
	return stepOption(func(s *history.ScheduleStep) error {
		s.StartToClose = d
		return checkStepTime("start-to-close", d)
	})
}

// ScheduleToClose bounds all attempts and the pauses between them, from the turn that schedules the step on; without it
// nothing does. At most 30 days. A step that is past it has failed, whoever is at work on it.
func ScheduleToClose(d time.Duration) StepOption {
	return stepOption(func(s *history.ScheduleStep) error {
		s.ScheduleToClose = &d
		return checkStepTime("schedule-to-close", d)
	})
}

// HeartbeatTimeout ends an attempt whose function has not called Step.Heartbeat for so long; without it silence is no
// fault. At most 30 days.
func HeartbeatTimeout(d time.Duration) StepOption {
	return stepOption(func(s *history.ScheduleStep) error {
		s.Heartbeat = d
		return checkStepTime("heartbeat", d)
	})
}

func checkStepTime(which string, d time.Duration) error {
	if d <= 0 || d > maxStepTime {
		return fmt.Errorf("the %s time must be more than 0 and at most %s", which, maxStepTime)
	}
	return nil
}

// RunStep asks for a step: a side effect that a process which registers the name does, outside turns. Naming a known step
// again changes nothing but says that the run waits for it; another name or input under its ID is non-determinism and
// blocks the run. The input must encode as JSON of at most 4 MiB. A step lives until it has an outcome or is withdrawn:
// see StepOutput, StepFailed and CancelStep.
func (c *Context) RunStep(stepID, name string, input any, retry spec.RetryPolicy, opts ...StepOption) Decision {
	c.use()
	s := &history.ScheduleStep{ID: spec.StepID(stepID), Name: name, Retry: retry, StartToClose: defaultStartToClose}
	err := errors.Join(s.ID.Validate(), spec.CheckName("name", name), retry.Validate())
	if err == nil {
		s.Input, err = canon.Marshal(input)
		err = encodeError(err)
	}
	for _, opt := range opts {
		if err == nil {
			err = opt.step(s)
		}
	}
	return decide(s, c.wrong("RunStep", stepID, err))
}

// CancelStep withdraws a step: its function's context ends, and no attempt follows. On a step that has an outcome or was
// never asked for it changes nothing.
func (c *Context) CancelStep(stepID string) Decision {
	c.use()
	w := &history.WithdrawStep{ID: spec.StepID(stepID)}
	return decide(w, c.wrong("CancelStep", stepID, w.ID.Validate()))
}

// ChildOption says more about a child.
type ChildOption interface {
	child(*history.StartChild) error
}

type childOption func(*history.StartChild) error

func (o childOption) child(s *history.StartChild) error { return o(s) }

// OnParentEnd says what becomes of a child that has not ended when its parent ends.
type OnParentEnd = history.OnParentEnd

// The policies of OnParentEnd.
const (
	RequestCancel = history.ChildRequestCancel // it is cancelled, as Cancel does; this is the default
	Terminate     = history.ChildTerminate     // it is ended, as Terminate does
	Abandon       = history.ChildAbandon       // it goes on
)

// WhenParentEnds sets what becomes of the child when its parent ends before it.
func WhenParentEnds(policy OnParentEnd) ChildOption {
	return childOption(func(s *history.StartChild) error {
		s.OnParentEnd = policy
		switch policy {
		case RequestCancel, Terminate, Abandon:
			return nil
		}
		return errors.New("the policy must be RequestCancel, Terminate or Abandon")
	})
}

// ChildVersion starts the child at a version of its workflow; without it, at the one registered last.
func ChildVersion(version string) ChildOption {
	return childOption(func(s *history.StartChild) error {
		s.Version = version
		return spec.CheckName("version", version)
	})
}

// StartChild asks for a run of its own, in the same namespace, of which this run is the parent: its end, in whatever
// generation, is the child's outcome here, see ChildOutput and ChildFailed. Naming a known child again changes nothing but
// says that the run waits for it. The run ID is the child's name for everybody; one that another run has is an outcome,
// ChildFailed with the reason "conflict". The input must encode as JSON of at most 4 MiB.
func (c *Context) StartChild(childID, workflow string, runID spec.RunID, input any, opts ...ChildOption) Decision {
	c.use()
	s := &history.StartChild{ID: spec.ChildID(childID), Workflow: workflow, RunID: runID, OnParentEnd: RequestCancel}
	err := errors.Join(s.ID.Validate(), spec.CheckName("workflow", workflow), runID.Validate())
	if err == nil {
		s.Input, err = canon.Marshal(input)
		err = encodeError(err)
	}
	for _, opt := range opts {
		if err == nil {
			err = opt.child(s)
		}
	}
	return decide(s, c.wrong("StartChild", childID, err))
}

// OutgoingSignal is a signal for another run. An empty ID is one that is made of this run, its generation and the call's
// ID: the same on every delivery.
type OutgoingSignal struct {
	ID      spec.SignalID
	Name    string
	Payload any // encodes as JSON
}

// SignalRun sends a signal to another run of the namespace, exactly once by the signal's identity, however often it is
// delivered. Signals of this run to one other arrive in the order in which they were asked for. The outcome is
// CallDelivered or CallFailed; a signal is sent also when this run ends first. Naming a known call again changes nothing.
func (c *Context) SignalRun(callID string, target spec.RunID, signal OutgoingSignal) Decision {
	st := c.use()
	if signal.ID == "" {
		signal.ID = spec.SignalID("call-" + idempotencyKey(st.Key(), st.Generation(), callID))
	}
	s := &history.CallSignal{ID: spec.CallID(callID), Target: target, Signal: signal.ID, Name: signal.Name}
	err := errors.Join(s.ID.Validate(), target.Validate(), signal.ID.Validate(), spec.CheckName("name", signal.Name))
	if err == nil {
		s.Payload, err = canon.Marshal(signal.Payload)
		err = encodeError(err)
	}
	return decide(s, c.wrong("SignalRun", callID, err))
}

// RequestCancel asks to cancel another run of the namespace, as Cancel does. It is delivered as SignalRun's signals are.
func (c *Context) RequestCancel(callID string, target spec.RunID, reason string) Decision {
	c.use()
	s := &history.CallCancel{ID: spec.CallID(callID), Target: target, Reason: reason}
	return decide(s, c.wrong("RequestCancel", callID, errors.Join(s.ID.Validate(), target.Validate(), checkReason(reason))))
}
