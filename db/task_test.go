package db

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

const aMinute = time.Minute

// An attempt is renewed, given back and begun again by who claims it, and has one outcome.
func TestTaskFromClaimToOutcome(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.stepRun("a")
	r.wantRow("opened", "a", "step s attempt 0 failures 0 strikes 0 due")
	first := r.one("w1", aMinute)
	if d, ok := first.Asked.Data.(*history.StepScheduled); !ok || string(d.Input.Bytes()) != "null" || first.Task.Attempt != 1 || first.Workflow != "invoice" {
		t.Errorf("%+v asked for by %T", first, first.Asked.Data)
	}
	if more := r.claim("w2", aMinute, everyWant(10)...); len(more) > 0 {
		t.Errorf("another worker gets %+v", more)
	}
	own, err := r.RenewTasks(t.Context(), "w1", aMinute, []TaskLease{{Task: first, Details: []byte("half")}, {Task: first}})
	if err != nil || !slices.Equal(own, []bool{true, true}) {
		t.Errorf("renewed: %v %v", own, err)
	}
	r.wantRow("renewed", "a", "step s attempt 1 failures 0 strikes 0 later of w1 half")
	for worker, want := range map[string]bool{"w2": false, "w1": true} {
		how := Attempt{Failed: true, Error: "card refused", Details: []byte("most")}
		if own, err := r.ReturnTask(t.Context(), worker, first, how); own != want || err != nil {
			t.Errorf("returned by %s: %v %v", worker, own, err)
		}
	}
	r.wantRow("failed once", "a", "step s attempt 1 failures 1 strikes 0 due most card refused")
	if own, err := r.RenewTasks(t.Context(), "w1", aMinute, []TaskLease{{Task: first}}); err != nil || own[0] {
		t.Errorf("renewed after its end: %v %v", own, err)
	}
	second := r.one("w2", aMinute)
	if second.Failures != 1 || second.Strikes != 0 || string(second.Details) != "most" || second.Task.Attempt != 2 {
		t.Errorf("%+v", second)
	}
	if _, err := r.Accept(t.Context(), first.outcome()); !errors.Is(err, history.ErrStaleAttempt) {
		t.Errorf("the first attempt's outcome: %v", err)
	}
	r.ok(second.outcome())
	if _, err := r.Accept(t.Context(), second.outcome()); !errors.Is(err, history.ErrTaskClosed) {
		t.Errorf("the outcome again: %v", err)
	}
	r.wantRow("settled", "a", "")
	r.drain(by(stepping))
	if got := r.types("a", 1); got != "run.started step.scheduled step.completed run.completed" {
		t.Error(got)
	}
	r.agrees()
}

// A lease that ended makes the task due again, one strike the worse, and its worker's words count no more.
func TestTaskWhoseWorkerIsLost(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.stepRun("a")
	lost := r.one("w1", time.Millisecond)
	again := r.one("w1", aMinute) // be it the same process
	if again.Task.Attempt != 2 || again.Failures != 1 || again.Strikes != 1 {
		t.Errorf("%+v", again)
	}
	if own, err := r.RenewTasks(t.Context(), "w1", aMinute, []TaskLease{{Task: lost, Details: []byte("x")}, {Task: again}}); err != nil || !slices.Equal(own, []bool{false, true}) {
		t.Errorf("renewed: %v %v", own, err)
	}
	if own, err := r.ReturnTask(t.Context(), "w1", lost, Attempt{Failed: true, Error: "x"}); own || err != nil {
		t.Errorf("returned: %v %v", own, err)
	}
	for _, m := range []history.Message{
		lost.outcome(), lost.failure(), &history.HoldTask{Run: lost.Run, Task: lost.Task.TaskKey, Attempt: 1},
	} {
		if _, err := r.Accept(t.Context(), m); !errors.Is(err, history.ErrStaleAttempt) {
			t.Errorf("%T of the lost attempt: %v", m, err)
		}
	}
	r.wantRow("begun again", "a", "step s attempt 2 failures 1 strikes 1 later of w1")
	if own, err := r.ReturnTask(t.Context(), "w1", again, Attempt{}); !own || err != nil {
		t.Errorf("returned: %v %v", own, err)
	}
	r.wantRow("given back", "a", "step s attempt 2 failures 1 strikes 1 due")
	r.agrees()
}

// A held step rests until somebody decides, once; the letter says who and what.
func TestTaskHeldReplayedDiscarded(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.stepRun("a", "b", "c")
	steps := r.claim("w", aMinute, everyWant(10)...)
	for _, task := range steps {
		r.ok(&history.HoldTask{Run: task.Run, Task: task.Task.TaskKey, Attempt: 1, Letter: *task.failure().Letter})
	}
	r.wantRow("held", "a", "step s attempt 1 failures 0 strikes 0 parked held")
	if more := r.claim("w", aMinute, everyWant(10)...); len(more) > 0 {
		t.Errorf("held steps are begun: %+v", more)
	}
	r.ok(&history.ReplayTask{Run: keyOf("a"), Task: steps[0].Task.TaskKey, Actor: "ada"})
	r.ok(&history.DiscardTask{Run: keyOf("b"), Task: steps[1].Task.TaskKey, Actor: "eve"})
	r.ok(&history.CancelRun{Run: keyOf("c")})
	for _, m := range []history.Message{
		&history.ReplayTask{Run: keyOf("a"), Task: steps[0].Task.TaskKey}, &history.DiscardTask{Run: keyOf("b"), Task: steps[1].Task.TaskKey},
		&history.ReplayTask{Run: keyOf("c"), Task: steps[2].Task.TaskKey},
	} {
		if _, err := r.Accept(t.Context(), m); !errors.Is(err, history.ErrTaskClosed) {
			t.Errorf("%T to %s again: %v", m, m.Target(), err)
		}
	}
	r.wantRow("replayed", "a", "step s attempt 1 failures 0 strikes 0 due")
	again := r.one("w", aMinute)
	r.ok(again.failure())
	r.drain(by(stepping))
	if got := r.letterRows(); got != "a s charge exhausted 1 replayed ada, b s charge exhausted 1 discarded eve, c s charge exhausted 1 held , a s charge exhausted 2 failed " {
		t.Errorf("letters %q", got)
	}
	if got := r.types("b", 1); got != "run.started step.scheduled step.failed run.failed" {
		t.Error(got)
	}
	r.lettersAreRead()
	r.agrees()
}

// lettersAreRead lists, filters, reads and discards the letters, of this namespace only.
func (r *acceptRig) lettersAreRead() {
	r.t.Helper()
	var ids []int64
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		letters, next, err := r.ListLetters(r.t.Context(), LetterFilter{Namespace: "default", Cursor: cursor, Limit: 3})
		if err != nil || pages > 1 {
			r.t.Fatalf("page %d: %v", pages, err)
		}
		for _, l := range letters {
			ids = append(ids, l.ID)
		}
		cursor = next
	}
	if !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) || len(ids) != 4 {
		r.t.Errorf("listed %v", ids)
	}
	for filter, n := range map[LetterFilter]int{
		{Namespace: "default", State: history.LetterHeld}: 1, {Namespace: "default", Name: "absent"}: 0, {Namespace: "other"}: 0,
		{Namespace: "default", Name: "charge"}: 4,
	} {
		if letters, _, err := r.ListLetters(r.t.Context(), filter); err != nil || len(letters) != n {
			r.t.Errorf("%+v lists %d, %v", filter, len(letters), err)
		}
	}
	if _, err := r.ReadLetter(r.t.Context(), "other", ids[0]); !errors.Is(err, ErrLetterNotFound) {
		r.t.Errorf("another namespace reads a letter: %v", err)
	}
	if changed, err := r.DiscardLetter(r.t.Context(), "other", Letter{ID: ids[0]}, "eve"); changed || err != nil {
		r.t.Errorf("another namespace discards a letter: %v %v", changed, err)
	}
	for _, want := range []bool{true, false} {
		if changed, err := r.DiscardLetter(r.t.Context(), "default", Letter{ID: ids[0]}, "eve"); changed != want || err != nil {
			r.t.Errorf("discarded: %v %v", changed, err)
		}
	}
	if l, err := r.ReadLetter(r.t.Context(), "default", ids[0]); err != nil || l.State != history.LetterDiscarded || l.Actor != "eve" || l.ResolvedAt == nil {
		r.t.Errorf("read %+v %v", l, err)
	}
}

// Texts that an author's error may have are stored in a form that the database takes.
func TestTaskFailuresWithWildTexts(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.stepRun("a")
	m := r.one("w", aMinute).failure()
	m.Letter.Failure.Code, m.Letter.Failure.Message = "a\x00\xff", "b\x00\xff"+strings.Repeat("x", 5000)
	m.Failure.Code, m.Failure.Message = m.Letter.Failure.Code, m.Letter.Failure.Message
	r.ok(m)
	r.drain(by(stepping))
	if got := value[string](r, `select code from dead_letters`); got != "a\uFFFD\uFFFD" {
		t.Errorf("code %q", got)
	}
	r.agrees()
}

// A claim takes so many of each name at most, leaves out what was not asked for, and says when the next is due.
func TestTaskClaimTakesWhatWasWanted(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.drain(by(func(*history.State) history.Decision {
		var cs []history.Command
		for i := range 6 {
			step := stepOf(fmt.Sprint("s", i))
			if i >= 3 {
				step.Name = "refund"
			}
			cs = append(cs, step)
		}
		return decide(append(cs, wait("w"))...)
	}))
	of := func(name string, most int) TaskWant { return TaskWant{Kind: history.TaskStep, Name: name, Most: most} }
	claimed, err := r.ClaimTasks(t.Context(), TaskClaim{Worker: "w", Lease: aMinute, Wants: []TaskWant{of("charge", 2), of("absent", 5), of("refund", 9)}})
	if err != nil || len(claimed.Tasks) != 5 || claimed.NextIn < 24*time.Hour { // what it begins itself is not waited for
		t.Errorf("%d tasks, next in %s, %v", len(claimed.Tasks), claimed.NextIn, err)
	}
	leased, err := r.ClaimTasks(t.Context(), TaskClaim{Worker: "v", Lease: aMinute, Wants: []TaskWant{of("refund", 9)}})
	if err != nil || len(leased.Tasks) != 0 || leased.NextIn <= 0 || leased.NextIn > aMinute {
		t.Errorf("%d tasks, next in %s, %v", len(leased.Tasks), leased.NextIn, err)
	}
	if next, err := r.NextTask(t.Context(), []TaskWant{of("charge", 1)}); err != nil || next > 0 {
		t.Errorf("one that is left is due in %s, %v", next, err)
	}
	for name, want := range map[string]bool{"refund": true, "absent": false} {
		if next, err := r.NextTask(t.Context(), []TaskWant{of(name, 1)}); err != nil || next <= 0 || (next <= aMinute) != want {
			t.Errorf("%s: next in %s, %v", name, next, err)
		}
	}
	none, err := r.ClaimTasks(t.Context(), TaskClaim{Worker: "w", Lease: aMinute, Wants: []TaskWant{of("absent", 5)}})
	if err != nil || len(none.Tasks) != 0 || none.NextIn < 24*time.Hour {
		t.Errorf("%+v %v", none, err)
	}
}

// A child is parked until its run ends, whichever comes first: the end of its start or that of the run.
func TestTaskOfAChildIsParked(t *testing.T) {
	t.Parallel()
	r := running(t)
	code := func(s *history.State) history.Decision {
		for _, id := range []string{"c0", "c1"} {
			if v := s.Task(id); v.State != history.TaskCompleted {
				return decide(childOf("c0", "run0", history.ChildTerminate), childOf("c1", "run1", history.ChildTerminate))
			}
		}
		return decide(&history.Complete{Output: null})
	}
	r.ok(r.startOf("a"))
	r.drain(by(code))
	children := r.claim("w", aMinute, everyWant(10)...)
	report := func(id string) *history.SettleTask {
		key := history.TaskKey{Generation: 1, Kind: history.TaskChild, ID: id}
		return &history.SettleTask{Run: keyOf("a"), Task: key, Output: null}
	}
	if own, err := r.ReturnTask(t.Context(), "w", children[0], Attempt{Parked: true}); !own || err != nil {
		t.Errorf("parked: %v %v", own, err)
	}
	r.ok(report("c1")) // before its start is over
	if own, err := r.ReturnTask(t.Context(), "w", children[1], Attempt{Parked: true}); own || err != nil {
		t.Errorf("parked after its end: %v %v", own, err)
	}
	r.wantRow("one is parked", "a", "child c0 attempt 1 failures 0 strikes 0 parked")
	r.ok(report("c0"))
	r.drain(by(code))
	if v := r.view("a"); v.Status != history.Completed {
		t.Errorf("%+v", v)
	}
	r.agrees()
}

// A run that ends leaves its children to be told, its parent, too, and its calls to be sent; none of them is an event.
func TestTaskRowsThatOutliveTheirRun(t *testing.T) {
	t.Parallel()
	r := running(t)
	m := r.startOf("a")
	m.Parent = &history.Parent{RunID: "p", Generation: 2, ChildID: "me", Depth: 3}
	r.ok(m)
	r.advanceOnly("a", taskCast)
	r.ok(&history.CancelRun{Run: keyOf("a"), ChildOf: m.Parent})
	left := r.claim("w", aMinute, everyWant(20)...)
	var got []string
	for _, task := range left {
		got = append(got, fmt.Sprint(task.Task.Kind, " ", task.Task.ID, " to ", task.Task.Target, " ", task.Task.Policy))
		if task.Parent == nil || *task.Parent != *m.Parent {
			t.Errorf("%s: parent %+v", task.Task.ID, task.Parent)
		}
	}
	slices.Sort(got)
	want := []string{
		"call call to parked ", "call cancel to parked ", "child abandoned to a-3 abandon", "report me to p ",
		"stop child to a-1 request_cancel", "stop terminated to a-2 terminate",
	}
	want = slices.Delete(want, 1, 2) // it waits for the calls before it
	if !slices.Equal(got, want) {
		t.Errorf("left:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	events := r.view("a").NextSeq
	for _, task := range left {
		r.ok(task.outcome())
	}
	if r.view("a").NextSeq != events {
		t.Error(r.types("a", 1))
	}
	r.agrees()
	again := r.startOf("a")
	if _, err := r.Accept(t.Context(), again); err == nil {
		t.Error("somebody who is not its parent starts it again")
	}
	again.Parent = m.Parent
	if receipt := r.ok(again); receipt.Verdict != history.Duplicate {
		t.Errorf("%+v", receipt)
	}
	if _, err := r.Accept(t.Context(), &history.CancelRun{Run: keyOf("a"), ChildOf: &history.Parent{RunID: spec.RunID("q")}}); !errors.Is(err, history.ErrRunNotFound) {
		t.Errorf("cancelled by a stranger: %v", err)
	}
}
