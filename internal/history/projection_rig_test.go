package history

import (
	"slices"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// project reads the events of the rig's run.
func project(events []Event) *Projection {
	p := NewProjection(testKey)
	for _, e := range events {
		p.Apply(e)
	}
	return p
}

// compareRows compares the rig's rows as they were stored at now.
func compareRows(p *Projection, r *rig, now time.Time) ([]Difference, int) {
	p.CompareRun(r.run, now, 0)
	for _, s := range r.signals {
		p.CompareSignal(s)
	}
	for _, h := range r.hooks {
		p.CompareHook(HookRow{Hook: h, Namespace: testKey.Namespace, Labels: h.Metadata.Labels})
	}
	for _, t := range r.tasks {
		p.CompareTask(t)
	}
	for _, u := range r.updates {
		p.CompareUpdate(u)
	}
	return p.Finish()
}

// eventful decides so that its run meets with nearly everything: two generations, hooks of every end, a timer, and what
// goes over.
func eventful(s *State) Decision {
	if s.Generation() == 1 {
		if _, ok := got(s, "roll"); ok {
			return decide(&ContinueAsNew{Input: payload("second")})
		}
		described := hookNamed("disposed")
		described.Metadata = spec.HumanApproval("x").WithLabel("team", "blue").WithData("amount", "1")
		return decide(hookNamed("open"), hookNamed("unasked"), hookNamed("answered"), hookFor("expired", time.Second), described,
			wait1For("first", "a", time.Hour), wait1("roll", "roll"), timerIn("t", time.Hour))
	}
	if _, ok := got(s, "end"); ok {
		return decide(complete("done"))
	}
	return decide(wait1("end", "end"), wait1("other", "never"))
}

// eventfulRun is a completed run of eventful, whose rows and events agree.
func eventfulRun(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, eventful)
	r.auth.cooperative = true
	do := func(_ Receipt, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	r.pass(time.Second)
	do(r.signal("a1", "a", 1))
	do(r.resume("unasked", "yes"))
	do(r.dispose("disposed"))
	r.settle()
	do(r.signal("left", "left", 1))
	r.settle()
	r.pass(time.Second)
	do(r.signal("roll", "roll", 1))
	do(r.resume("answered", "yes"))
	do(r.accept(&CancelRun{Run: testKey}))
	r.settle()
	r.broken = true
	do(r.signal("noise", "left", 2))
	r.settle()
	r.broken = false
	do(r.accept(&RetryRun{Run: testKey}))
	r.settle()
	r.pass(time.Second)
	do(r.signal("end", "end", 1))
	r.settle()
	if r.run.Status != Completed || r.run.Generation != 2 || r.run.Backlog != 2 {
		t.Fatalf("%+v\n%v", r.run, r.story())
	}
	return r
}

// edit is a history that somebody meddled with.
type edit []Event

// find returns the n-th event with content of type D, counted from 0, as a copy that may be changed.
func find[D any](events edit, n int) *D {
	for i, e := range events {
		if d, ok := any(e.Data).(*D); ok {
			if n == 0 {
				c := *d
				events[i].Data = any(&c).(Data)
				return &c
			}
			n--
		}
	}
	panic("no such event")
}

// at is the index of the last event of a type.
func (events edit) at(kind Type) int {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Data.Type() == kind {
			return i
		}
	}
	panic("no such event")
}

// without leaves an event out and moves the rest up.
func (events edit) without(i int) edit {
	events = slices.Delete(events, i, i+1)
	for k := i; k < len(events); k++ {
		events[k].Seq--
	}
	return events
}

// with puts an event behind the i-th and moves the rest down.
func (events edit) with(i int, data Data) edit {
	e := events[i]
	e.Taken, e.Read, e.Data = nil, nil, data
	events = slices.Insert(events, i+1, e)
	for k := i + 1; k < len(events); k++ {
		events[k].Seq++
	}
	return events
}

// replaced is the payload with other bytes under the old digest.
func replaced(p canon.Payload) canon.Payload { return canon.Restore([]byte(`"forged"`), p.Digest()) }
