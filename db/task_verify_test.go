package db

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// allRuns is how many runs everything has.
const allRuns = 14

func stepOf(id string) *history.ScheduleStep {
	return &history.ScheduleStep{ID: spec.StepID(id), Name: "charge", Input: null, StartToClose: time.Minute}
}

func childOf(id, run string, policy history.OnParentEnd) *history.StartChild {
	return &history.StartChild{ID: spec.ChildID(id), Workflow: "invoice", RunID: spec.RunID(run), Input: null, OnParentEnd: policy}
}

func callOf(id, target string) *history.CallSignal {
	return &history.CallSignal{
		ID: spec.CallID(id), Target: spec.RunID(target), Signal: spec.SignalID("of-" + id), Name: "approved", Payload: null,
	}
}

// taskCast is workflow code that asks for tasks of every kind and waits; its runs end with everything open.
func taskCast(s *history.State) history.Decision {
	if done, _ := s.Wait("go"); done == history.WaitDone {
		return decide(&history.Complete{Output: null})
	}
	if s.Key().RunID == "child" {
		return decide(wait("go"))
	}
	hour, run := time.Hour, string(s.Key().RunID)
	timed := stepOf("timed")
	timed.ScheduleToClose = &hour
	return decide(
		stepOf("step"), timed, childOf("child", run+"-1", history.ChildRequestCancel), childOf("terminated", run+"-2", history.ChildTerminate),
		childOf("abandoned", run+"-3", history.ChildAbandon), callOf("call", "parked"), callOf("sent", "parked"),
		&history.CallCancel{ID: "cancel", Target: "parked"}, wait("go"),
	)
}

// taskRuns adds a run with every kind of task open, one that ended with all of them, and one that tells its parent so.
func (r *acceptRig) taskRuns() {
	r.t.Helper()
	r.ok(r.startOf("tasked"))
	r.ok(r.startOf("bereaved"))
	child := r.startOf("child")
	child.Parent = &history.Parent{RunID: "bereaved", Generation: 1, ChildID: "of-bereaved", Depth: 1}
	r.ok(child)
	for _, id := range []string{"tasked", "bereaved", "child"} {
		r.advanceOnly(id, taskCast)
	}
	r.ok(r.signal("bereaved", "s", "1"))
	r.ok(r.signal("child", "s", "1"))
	for _, id := range []string{"bereaved", "child"} {
		r.advanceOnly(id, taskCast)
	}
	if n := value[int](r, `select count(*) from tasks`); n != 8+6+1 {
		r.t.Fatalf("%d rows of tasks", n)
	}
}

// advanceOnly takes the turns of one run.
func (r *acceptRig) advanceOnly(run string, code author) {
	r.t.Helper()
	done, err := r.AdvanceOne(r.t.Context(), by(code), keyOf(run))
	if err != nil || done.Committed != 1 {
		r.t.Fatalf("advance %s: %+v %v", run, done, err)
	}
}

func taskOf(run, id string) string {
	return "run = (select id from runs where run_id = '" + run + "') and task_id = '" + id + "'"
}

func taskDamages() []damage {
	missing := func(id string) string { return `"tasked" of "default": task "` + id + `": the row is missing` }
	return []damage{
		{"tasks", "run", taskOf("tasked", "step"), ofParked, []string{`"parked" of "default": task "step": no event made this row`, missing("step")}},
		{"tasks", "generation", taskOf("tasked", "step"), `2`, []string{`task "step": no event made this row`, missing("step")}},
		{"tasks", "kind", taskOf("tasked", "step"), `'call'`, []string{`task "step": no event made this row`, missing("step")}},
		{"tasks", "kind", taskOf("tasked", "step"), `'report'`, []string{`task "step": no event made this row`, missing("step")}},
		{"tasks", "task_id", taskOf("tasked", "child"), `'x'`, []string{`task "x": no event made this row`, missing("child")}},
		{"tasks", "name", taskOf("tasked", "step"), `'x'`, []string{`task "step": name: events say "charge", the row says "x"`}},
		{"tasks", "name", taskOf("tasked", "call"), `'x'`, []string{`task "call": name: events say nothing, the row says "x"`}},
		{"tasks", "seq", taskOf("tasked", "cancel"), `seq + 1`, []string{`task "cancel": seq: events say "`}},
		{"tasks", "seq", taskOf("bereaved", "terminated"), `1`, []string{`task "terminated": seq: events say "0", the row says "1"`}},
		{"tasks", "target", taskOf("tasked", "call"), `'x'`, []string{`task "call": target: events say "parked", the row says "x"`}},
		{"tasks", "target", taskOf("bereaved", "terminated"), `'x'`, []string{`task "terminated": target: events say "bereaved-2", the row says "x"`}},
		{"tasks", "target", taskOf("child", "of-bereaved"), `'x'`, []string{`task "of-bereaved": target: events say "bereaved", the row says "x"`}},
		{"tasks", "target", taskOf("bereaved", "sent"), `'x'`, []string{`task "sent": target: events say "parked", the row says "x"`}},
		{"tasks", "policy", taskOf("tasked", "child"), `'abandon'`, []string{`task "child": policy: events say "request_cancel", the row says "abandon"`}},
		{"tasks", "policy", taskOf("bereaved", "terminated"), `'abandon'`, []string{`task "terminated": policy: events say "terminate", the row says "abandon"`}},
		{"tasks", "close_at", taskOf("tasked", "timed"), `null`, []string{`task "timed": close_at: events say "`}},
		{"tasks", "close_at", taskOf("tasked", "step"), `now()`, []string{`task "step": close_at: events say nothing, the row says "`}},
		{"tasks", "close_at", taskOf("tasked", "timed"), `'infinity'`, []string{`task "timed": the row cannot be read`}},
		{"tasks", "run_after", taskOf("tasked", "step"), `'infinity'`, []string{`task "step": the row cannot be read`}},
	}
}
