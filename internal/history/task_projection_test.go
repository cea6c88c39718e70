package history

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// busy asks for everything in its first generation and leaves its second with everything open.
func busy(s *State) Decision {
	if _, ok := got(s, "end"); ok {
		return decide(callNamed("last"), complete("done"))
	}
	if s.Generation() == 2 {
		return decide(stepFor("s2", time.Hour), childNamed("c2", ChildTerminate), childNamed("c3", ChildAbandon), callNamed("k2"), wait1("end", "end"))
	}
	if _, ok := got(s, "roll"); ok {
		return decide(&ContinueAsNew{Input: payload("second")})
	}
	if _, ok := got(s, "go"); ok {
		return decide(&WithdrawStep{ID: "withdrawn"}, wait1("roll", "roll"))
	}
	return decide(stepNamed("done"), stepNamed("failed"), stepFor("late", time.Second), stepNamed("withdrawn"), childNamed("c", ChildAbandon),
		callNamed("k"), cancelNamed("sent"), wait1("go", "go"))
}

// busyRun is a run of busy in its second generation, with everything open.
func busyRun(t *testing.T) *rig {
	t.Helper()
	do := mustTake(t)
	r := newRig(t, busy)
	r.run.Parent = &Parent{RunID: "p", Generation: 1, ChildID: "me", Depth: 1}
	r.events[0].Data.(*RunStarted).Parent = r.run.Parent
	r.settle()
	do(r.done(TaskStep, "done", 1))
	do(r.fail(TaskStep, "failed", Failure{Reason: FailedNonRetryable, Code: "c", Message: "m"}))
	do(r.done(TaskChild, "c", 2))
	do(r.done(TaskCall, "sent", nil))
	r.pass(2 * time.Second)
	r.settle()
	sending("g", "go")(r)
	sending("r", "roll")(r)
	r.settle()
	if r.run.Status != Running || r.run.Generation != 2 || len(r.tasks) != 5 {
		t.Fatalf("%+v\n%v\n%v", r.run, r.story(), r.tasks)
	}
	return r
}

// A call goes on when its generation ends: its outcome is taken, and is no event.
func TestTask_calls_outlive_their_generation(t *testing.T) {
	t.Parallel()
	r := busyRun(t)
	n := len(r.events)
	old := TaskKey{1, TaskCall, "k"}
	mustTake(t)(r.accept(&SettleTask{Run: testKey, Task: old, Attempt: r.attempt(old)}))
	if _, there := r.tasks[old]; there || len(r.events) != n {
		t.Errorf("rows %v, %v", r.tasks, r.story()[n:])
	}
	if v := r.cold().Task("k"); v.State != TaskUnknown {
		t.Errorf("the next generation sees %+v", v)
	}
	mustTake(t)(r.done(TaskCall, "k2", nil))
	sending("e", "end")(r)
	r.settle()
	want := []TaskKey{{2, TaskCall, "last"}, {2, TaskChild, "c3"}, {2, TaskReport, "me"}, {2, TaskStop, "c2"}}
	var rows []TaskKey
	for key := range r.tasks {
		rows = append(rows, key)
	}
	slices.SortFunc(rows, TaskKey.compare)
	if diff := gocmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if s := r.cold(); len(s.Waiting()) != 0 {
		t.Errorf("a run that ended waits for %v", s.Waiting())
	}
	if found, n := compareRows(project(r.events), r, r.now); n > 0 {
		t.Error(found)
	}
}

// Each part of each row, damaged alone, is one difference; and what is lost or left over is, too.
func TestTask_rows_are_what_events_say(t *testing.T) {
	t.Parallel()
	later := epoch.Add(time.Minute)
	for change, set := range map[string]func(*Task){
		"name": func(row *Task) { row.Name += "x" }, "seq": func(row *Task) { row.Seq++ }, "target": func(row *Task) { row.Target += "x" },
		"policy": func(row *Task) { row.Policy += "x" }, "close_at": func(row *Task) { row.CloseAt = &later },
	} {
		for _, ended := range []bool{false, true} {
			r := busyRun(t)
			if ended {
				sending("e", "end")(r)
				r.settle()
			}
			if found, n := compareRows(project(r.events), r, r.now); n > 0 {
				t.Fatalf("unhurt: %v", found)
			}
			for key, row := range r.tasks {
				hurt := row
				set(&hurt)
				r.tasks[key] = hurt
				found, n := compareRows(project(r.events), r, r.now)
				if n != 1 || found[0].Row != RowTask || found[0].ID != key.ID || found[0].Field != change {
					t.Errorf("%s of %v, ended %v: %v", change, key, ended, found)
				}
				r.tasks[key] = row
			}
		}
	}
	r := busyRun(t)
	for key, row := range r.tasks {
		delete(r.tasks, key)
		found, n := compareRows(project(r.events), r, r.now)
		if loose := key.Generation == 1; loose != (n == 0) || !loose && (n != 1 || found[0].Text != "the row is missing") {
			t.Errorf("without %v: %v", key, found)
		}
		p := project(r.events)
		p.UnreadableTask(key, "the row cannot be read")
		if found, n := compareRows(p, r, r.now); n != 1 || found[0].ID != key.ID {
			t.Errorf("with %v unreadable: %v", key, found)
		}
		for i, other := range []TaskKey{{key.Generation + 7, key.Kind, key.ID}, {key.Generation, TaskReport, key.ID}, {key.Generation, key.Kind, "left"}} {
			left := row
			left.TaskKey = other
			r.tasks[key], r.tasks[other] = row, left
			if found, n := compareRows(project(r.events), r, r.now); n != 1 || found[0].Text != "no event made this row" {
				t.Errorf("%d: with %v left: %v", i, other, found)
			}
			delete(r.tasks, other)
		}
	}
}

// Each law of tasks is seen when a history breaks it, by the fold of a generation or by the reading of all.
func TestTask_histories_that_break_a_law(t *testing.T) {
	t.Parallel()
	run := busyRun(t)
	sending("e", "end")(run)
	run.settle()
	for name, tc := range map[string]struct {
		edit func(edit) edit
		says string
	}{
		"two endings of a step":                    {func(e edit) edit { i := e.at(TypeStepCompleted); return e.with(i, e[i].Data) }, "the step is not open"},
		"an outcome after a withdrawal":            {func(e edit) edit { find[StepCancelled](e, 0).StepID = "done"; return e }, "the step is not open"},
		"a time-out of a step that has an outcome": {func(e edit) edit { find[StepTimedOut](e, 0).StepID = "done"; return e }, "the step is not open"},
		"a time-out of a step that has no deadline": {func(e edit) edit {
			find[StepTimedOut](e, 0).StepID = "withdrawn"
			return e
		}, "not past its deadline"},
		"an outcome past the deadline": {func(e edit) edit { find[StepScheduled](e, 0).CloseAt = &epoch; return e }, "past its deadline"},
		"a time-out before the deadline": {func(e edit) edit {
			at := epoch.Add(24 * time.Hour)
			find[StepScheduled](e, 2).CloseAt = &at
			return e
		}, "not past its deadline"},
		"an outcome of another kind": {func(e edit) edit { find[CallDelivered](e, 0).CallID = "c"; return e }, "the call is not open"},
		"an outcome of nothing":      {func(e edit) edit { find[ChildCompleted](e, 0).ChildID = "x"; return e }, "the child is not open"},
		"an ID twice":                {func(e edit) edit { find[StepScheduled](e, 1).StepID = "done"; return e }, "the ID was used before"},
		"the ID of a wait":           {func(e edit) edit { find[WaitOpened](e, 0).WaitID = "done"; return e }, "the ID is of another kind"},
		"a step left by an ending":   {func(e edit) edit { return e.without(e.at(TypeStepCancelled)) }, "a step or a child is left open"},
		"a child left by an ending":  {func(e edit) edit { return e.without(e.at(TypeChildReleased)) }, "a step or a child is left open"},
		"a step left by a new generation": {func(e edit) edit {
			return e.with(e.at(TypeRunContinued)-1, &StepScheduled{StepID: "x", Name: "n", Digest: payload(1).Digest(), Input: payload(1)})
		}, "a step or a child is left open"},
		"an ending's cause in the middle": {func(e edit) edit { find[StepCancelled](e, 1).Cause = StateExpired; return e }, "not one of an ending"},
		"a child let go for no cause":     {func(e edit) edit { find[ChildReleased](e, 0).Cause = StateDisposed; return e }, "not one of an ending"},
		"another input than its digest":   {func(e edit) edit { d := find[StepScheduled](e, 0); d.Input = replaced(d.Input); return e }, "digest: is not that of the payload"},
		"another output than its digest":  {func(e edit) edit { d := find[ChildCompleted](e, 0); d.Output = replaced(d.Output); return e }, "digest: is not that of the payload"},
		"another message than its digest": {func(e edit) edit { d := find[SignalRequested](e, 0); d.Payload = replaced(d.Payload); return e }, "digest: is not that of the payload"},
		"an outcome shown twice":          {func(e edit) edit { return repeatTaken(e) }, "takes a message that is not the next one"},
	} {
		found, n := compareRows(project(tc.edit(slices.Clone(run.events))), run, run.now)
		if n == 0 || found[0].Row != RowEvent || !strings.Contains(found[0].String(), tc.says) {
			t.Errorf("%s: %v, want %q", name, found, tc.says)
		}
	}
}

// repeatTaken shows the messages of the first event that shows some once more.
func repeatTaken(e edit) edit {
	for i := range e {
		if len(e[i].Taken) > 0 {
			e[i].Taken = append(slices.Clone(e[i].Taken), e[i].Taken...)
			return e
		}
	}
	panic("nothing was taken")
}

// FuzzTaskEvents decodes what is stored of events of tasks: whatever was stored, it decodes to an event that encodes and
// reads back the same, or is refused; and a run reads it without a panic.
func FuzzTaskEvents(f *testing.F) {
	for _, e := range oneOfEach() {
		if enc, err := Encode(e); err == nil {
			f.Add(enc.Type, enc.Data, enc.Payload)
		}
	}
	for kind, data := range map[Type]string{
		TypeStepScheduled: `{"step_id":"s","name":"n","retry":{"max_attempts":-1},"start_to_close":"forever"}`,
		TypeStepFailed:    `{"step_id":7,"reason":"no"}`, TypeStepCancelled: `{"step_id":"s","cause":null}`,
		TypeChildRequested: `{"child_id":"c","run_id":"\u0000","digest":"00"}`, TypeCallFailed: `[]`, TypeStepTimedOut: `{"step_id":"s"}{}`,
	} {
		f.Add(string(kind), []byte(data), []byte(`{"a":1e400}`))
	}
	f.Fuzz(func(t *testing.T, kind string, data, stored []byte) {
		e, err := Decode(1, 2, epoch, Encoded{Type: kind, Data: data, Payload: stored})
		if err != nil {
			return
		}
		enc, err := Encode(e)
		if err != nil {
			t.Fatalf("%s decodes and does not encode: %v", kind, err)
		}
		again, err := Decode(1, 2, epoch, enc)
		if err != nil {
			t.Fatalf("%s does not read back: %v", kind, err)
		}
		if twice, err := Encode(again); err != nil || !bytes.Equal(twice.Data, enc.Data) || !bytes.Equal(twice.Payload, enc.Payload) {
			t.Fatalf("%s reads back as %s, %v; was %s", kind, twice.Data, err, enc.Data)
		}
		r := newRig(t, func(*State) Decision { return decide(stepNamed("s"), childNamed("c", ChildAbandon), callNamed("x")) })
		r.settle()
		e.Seq = r.run.NextSeq
		p := project(append(slices.Clone(r.events), e))
		p.CompareRun(r.run, r.now, 0)
		p.Finish()
	})
}
