package db

import (
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// canonOne is a payload.
var canonOne = func() canon.Payload {
	p, err := canon.Parse([]byte("1"), canon.DefaultLimits)
	if err != nil {
		panic(err)
	}
	return p
}()

// timedStep asks for a step, and waits.
func timedStep(toClose *time.Duration) author {
	return func(*history.State) history.Decision {
		step := &history.ScheduleStep{
			ID: "s", Name: "work", Input: canonOne, StartToClose: time.Minute, ScheduleToClose: toClose, Retry: spec.NoRetry(),
		}
		return history.Decision{Commands: []history.Command{step, &history.OpenWait{ID: "after", Signal: "approved"}}}
	}
}

// outcomeCase is the outcome of a step that the side's store began, after something else happened.
type outcomeCase struct {
	name    string
	within  *time.Duration
	attempt int // of the outcome; 0 is the one under way
	bare    bool
	then    func(p *twins, s *twin, run string, t ClaimedTask)
	want    string
	known   bool
	tried   bool
}

func outcomeCases() []outcomeCase {
	hour, moment := time.Hour, 50*time.Millisecond
	return []outcomeCase{
		{name: "new", want: "accepted at 4", known: true},
		{name: "in time", within: &hour, want: "accepted at 4", known: true},
		{name: "without the record", bare: true, want: "accepted at 4"},
		{name: "of an earlier attempt", attempt: 7, want: history.ErrStaleAttempt.Error()},
		{
			name: "begun anew elsewhere", want: history.ErrStaleAttempt.Error(), tried: true,
			then: func(p *twins, _ *twin, run string, _ ClaimedTask) {
				p.sql(`update tasks set attempt = attempt + 1 where run = (select id from runs where run_id = '` + run + `')`)
			},
		},
		{
			name: "held elsewhere", want: history.ErrStaleAttempt.Error(), tried: true,
			then: func(p *twins, _ *twin, run string, t ClaimedTask) {
				letter := history.Letter{Failure: history.Failure{Reason: history.FailedExhausted}}
				p.ok(&history.HoldTask{Run: keyOf(run), Task: t.Task.TaskKey, Attempt: t.Task.Attempt, Letter: letter})
			},
		},
		{
			name: "settled elsewhere", want: history.ErrTaskClosed.Error(), tried: true,
			then: func(p *twins, _ *twin, run string, t ClaimedTask) { p.ok(outcomeOf(run, t)) },
		},
		{
			name: "past its deadline", within: &moment, want: history.ErrTaskClosed.Error(), tried: true,
			then: func(p *twins, _ *twin, run string, _ ClaimedTask) {
				p.until("the deadline is past", func() bool {
					return value[bool](p.acceptRig, `select close_at < clock_timestamp() from tasks where run = (select id from runs where run_id = '`+run+`')`)
				})
			},
		},
		{
			name: "beside a signal elsewhere", want: "accepted at 5", tried: true,
			then: func(p *twins, _ *twin, run string, _ ClaimedTask) { p.ok(p.signal(run, "x", "1")) },
		},
		{
			name: "cancelled elsewhere", want: history.ErrTaskClosed.Error(), tried: true,
			then: func(p *twins, _ *twin, run string, _ ClaimedTask) { p.ok(&history.CancelRun{Run: keyOf(run)}) },
		},
	}
}

func outcomeOf(run string, t ClaimedTask) *history.SettleTask {
	return &history.SettleTask{Run: keyOf(run), Task: t.Task.TaskKey, Attempt: t.Task.Attempt, Output: canonOne}
}

// The outcome of a step gets the verdict, and leaves the rows, that it gets from a store that reads: whatever happened
// since the step was begun.
func TestKnownRunsTakeOutcomesAsReadOnesDo(t *testing.T) {
	t.Parallel()
	p := newTwins(t)
	for i, c := range outcomeCases() {
		id := fmt.Sprint(i)
		for _, s := range p.sides {
			run := s.run(id)
			p.parked(s, id, timedStep(c.within))
			claimed, err := s.ClaimTasks(t.Context(), TaskClaim{
				Worker: "w", Lease: time.Minute, Wants: []TaskWant{{Kind: history.TaskStep, Name: "work", Most: 1}},
			})
			if err != nil || len(claimed.Tasks) != 1 {
				t.Fatalf("%s: %+v %v", c.name, claimed, err)
			}
			begun := claimed.Tasks[0]
			if c.then != nil {
				c.then(p, s, run, begun)
			}
			s.log.take()
			m := outcomeOf(run, begun)
			if !c.bare {
				m.Begun = &begun.Task
			}
			if c.attempt != 0 {
				m.Attempt = c.attempt
			}
			a := p.lane(s.Store, m)[0]
			got := readings([]Answer{a})[0]
			if a.Err != nil {
				got = a.Err.Error()
			}
			if got != c.want {
				t.Errorf("%s, by the store that %s: %s, want %s", c.name, s.name, got, c.want)
			}
			p.decided(s, c.name, c.known, c.tried, false)
		}
		p.same()
	}
}
