package proof

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// askedStep is a step of the generation as the history has it so far.
type askedStep struct {
	*history.StepScheduled
	ended history.Type // by what; empty while it is open
}

// step: a step is scheduled once in a generation and has exactly one outcome, which its function came to.
func (l *lawReader) step(e history.Event) {
	switch d := e.Data.(type) {
	case *history.StepScheduled:
		if _, asked := l.steps[d.StepID]; asked {
			l.breaks("step %s was scheduled before", d.StepID)
		}
		l.steps[d.StepID] = askedStep{StepScheduled: d}
	case *history.StepCompleted:
		l.outcome(e, d.StepID, func(asked *history.StepScheduled) string { return completed(asked, d) })
	case *history.StepFailed:
		l.outcome(e, d.StepID, func(asked *history.StepScheduled) string { return failed(asked, d) })
	case *history.StepTimedOut:
		if s := l.endStep(e, d.StepID); s.StepScheduled != nil && (s.CloseAt == nil || e.At.Before(*s.CloseAt)) {
			l.breaks("step %s is not past its deadline", d.StepID)
		}
	case *history.StepCancelled:
		l.endStep(e, d.StepID)
		if d.Cause != history.StateDisposed {
			l.closings = append(l.closings, d.Cause)
		}
	case *history.RunContinued:
		l.openSteps("is left behind by the generation")
		clear(l.steps)
		l.forgetOutcomes()
	}
}

func (l *lawReader) endStep(e history.Event, id spec.StepID) askedStep {
	s := l.steps[id]
	if s.StepScheduled == nil || s.ended != "" {
		l.breaks("step %s is not open: %s", id, s.ended)
	}
	s.ended = e.Data.Type()
	l.steps[id] = s
	return s
}

// outcome: what an attempt came to is stored before the step's deadline.
func (l *lawReader) outcome(e history.Event, id spec.StepID, wrong func(*history.StepScheduled) string) {
	s := l.endStep(e, id)
	if s.StepScheduled == nil {
		return
	}
	if s.CloseAt != nil && !e.At.Before(*s.CloseAt) {
		l.breaks("step %s has an outcome past its deadline", id)
	}
	if words := wrong(s.StepScheduled); words != "" {
		l.breaks("step %s %s", id, words)
	}
}

func completed(asked *history.StepScheduled, d *history.StepCompleted) string {
	want, fault := Do(asked.Input.Bytes(), d.Attempt)
	text, err := canon.Marshal(want)
	if d.Attempt < 1 || fault != nil || err != nil || !bytes.Equal(text.Bytes(), d.Output.Bytes()) {
		return fmt.Sprintf("has an output that attempt %d did not come to", d.Attempt)
	}
	return ""
}

// lostCode is that of an attempt whose worker was lost, where the last one was.
const lostCode = "worker_lost"

func failed(asked *history.StepScheduled, d *history.StepFailed) string {
	final := false
	if d.Code != lostCode {
		_, fault := Do(asked.Input.Bytes(), d.Attempt)
		if d.Attempt < 1 || fault == nil || fault.Code != d.Code || fault.Message != d.Message {
			return fmt.Sprintf("failed in a way that attempt %d did not", d.Attempt)
		}
		final = fault.Final || slices.Contains(asked.Retry.NonRetryable, d.Code)
	}
	switch d.Reason {
	case history.FailedNonRetryable:
		if !final {
			return "failed although it may be tried again"
		}
	case history.FailedExhausted:
		if final || d.Attempt < asked.Retry.Attempts {
			return fmt.Sprintf("has %d attempts, and failed for good in attempt %d", max(asked.Retry.Attempts, 1), d.Attempt)
		}
	case history.FailedQuarantined:
		if d.Code != lostCode || d.Attempt < 3 {
			return "is quarantined, and was not lost three times"
		}
	default:
		return fmt.Sprintf("failed for the reason %q", d.Reason)
	}
	return ""
}

// openSteps: none is open any more.
func (l *lawReader) openSteps(but string) {
	for id, s := range l.steps {
		if s.ended == "" {
			l.breaks("step %s %s", id, but)
		}
	}
}

// forgetOutcomes: what was not shown of the outcomes when the generation ended is not shown to the next one.
func (l *lawReader) forgetOutcomes() {
	l.accepted = slices.DeleteFunc(l.accepted, func(seq int64) bool {
		return l.outcomes[seq] && !slices.Contains(l.shown, seq)
	})
}

// LetterLaws lists what is wrong with the dead letters of a run: a step that fails for good leaves one, and one that is held,
// and no other does.
func (r Record) LetterLaws() (broken []string) {
	want, open := map[stepKey]*history.StepFailed{}, map[stepKey]bool{}
	for _, e := range r.Events {
		switch d := e.Data.(type) {
		case *history.StepScheduled:
			open[stepKey{e.Generation, string(d.StepID)}] = d.Retry.Hold
		case *history.StepFailed:
			if d.Reason != history.FailedNonRetryable {
				want[stepKey{e.Generation, string(d.StepID)}] = d
			}
		}
	}
	for _, l := range r.Letters {
		key := stepKey{l.Task.Generation, l.Task.ID}
		d := want[key]
		delete(want, key)
		f := l.Letter.Failure
		holds, asked := open[key]
		delete(open, key)
		switch {
		case !asked, holds != (l.State == history.LetterHeld):
			broken = append(broken, "no step made this letter: "+l.line())
		case !holds && (d == nil || d.Reason != f.Reason || d.Attempt != f.Attempt || d.Message != f.Message):
			broken = append(broken, "the step did not fail like that: "+l.line())
		case holds && d != nil:
			broken = append(broken, "the step is held, and has failed: "+l.line())
		}
	}
	for key, d := range want {
		broken = append(broken, fmt.Sprintf("step %s of generation %d failed (%s) and left no dead letter",
			key.id, key.generation, d.Reason))
	}
	return broken
}

// Broken lists all that is wrong with a record: the laws that its history breaks, and rows that are not what events say. See
// Laws and Differences.
func (r Record) Broken(now time.Time) []string {
	return slices.Concat(Laws(r.Events, r.Asleep(now)), r.Differences(now), r.LetterLaws())
}
