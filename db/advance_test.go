package db

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func TestRunAdvancesToItsEnd(t *testing.T) {
	t.Parallel()
	var ended []history.RunKey
	var mu sync.Mutex
	r := running(t, func(c *Config) {
		c.Ended = func(k history.RunKey, _ *RunView) { mu.Lock(); defer mu.Unlock(); ended = append(ended, k) }
	})
	r.ok(r.startOf("a"))
	if done := r.advance(by(approval)); done.Claimed != 1 || done.Committed != 1 || done.Full {
		t.Errorf("first turn: %+v", done)
	}
	if v := r.view("a"); v.Status != history.Running || v.WakeAt != nil || string(v.Input) != `{"n":1}` {
		t.Errorf("parked run: %+v", v)
	}
	r.ok(r.signal("a", "s1", `{"ok":true}`))
	r.advance(by(approval))
	v := r.view("a")
	if v.Status != history.Completed || string(v.Output) != `{"ok":true}` || v.WakeAt != nil || v.ClosedAt == nil {
		t.Errorf("ended run: %+v", v)
	}
	s, err := r.Signal(t.Context(), keyOf("a"), "s1")
	if err != nil || s.ConsumedBy == nil || s.ConsumedBy.WaitID != "w" || s.ConsumedBy.Generation != 1 {
		t.Errorf("signal: %+v %v", s, err)
	}
	want := "run.started wait.opened signal.received wait.completed run.completed"
	if got := r.types("a", 0); got != want {
		t.Errorf("history: %s", got)
	}
	if diff := cmp.Diff([]history.RunKey{keyOf("a")}, ended); diff != "" {
		t.Error(diff)
	}
	r.folded("a")
	if done := r.advance(by(approval)); done.Claimed != 0 {
		t.Errorf("an ended run was claimed: %+v", done)
	}
}

func TestFailedRunShowsItsError(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(func(*history.State) history.Decision { return decide(&history.Fail{Message: "no budget"}) }))
	if v := r.view("a"); v.Status != history.Failed || v.Error != "no budget" || v.Output != nil {
		t.Errorf("%+v", v)
	}
	r.folded("a")
}

func TestClaimsItsOwnCodesOnly(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i, code := range []Code{{"invoice", "1"}, {"invoice", "2"}, {"order", "1"}} {
		m := r.startOf(fmt.Sprint("r", i))
		m.Workflow, m.Version = code.Workflow, code.Version
		r.ok(m)
	}
	var claimed []string
	a := by(approval)
	inner := a.Decide
	a.Decide = func(run history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		claimed = append(claimed, string(run.Key.RunID))
		return inner(run, s, now, rej)
	}
	a.Codes = []Code{{"invoice", "2"}, {"absent", "1"}, {"invoice", "1"}}
	r.due("r1", time.Minute) // the code that waits longest is served first
	r.advance(a)
	if diff := cmp.Diff([]string{"r1", "r0"}, claimed); diff != "" {
		t.Error(diff)
	}
	if v := r.view("r2"); v.WakeAt == nil || v.NextSeq != 2 {
		t.Errorf("another code's run was touched: %+v", v)
	}
	if done, err := r.Advance(t.Context(), Advance{Limit: 1}); err != nil || done.Claimed != 0 {
		t.Errorf("no codes: %+v %v", done, err)
	}
}

func TestOldestFirstUpToTheLimit(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i := range 5 {
		r.ok(r.startOf(fmt.Sprint("r", i)))
		r.due(fmt.Sprint("r", i), time.Duration(i)*time.Second)
	}
	a := by(approval)
	a.Limit = 2
	if done := r.advance(a); done.Claimed != 2 || !done.Full {
		t.Errorf("%+v", done)
	}
	for i := range 5 {
		if moved := r.view(fmt.Sprint("r", i)).NextSeq == 3; moved != (i >= 3) {
			t.Errorf("r%d advanced: %v", i, moved)
		}
	}
}

func TestSaysWhenTheNextRunIsDue(t *testing.T) {
	t.Parallel()
	r := running(t)
	if done := r.advance(by(approval)); done.NextDue != nil {
		t.Errorf("nothing is due ever: %v", done.NextDue)
	}
	in := func(d time.Duration) author {
		return func(s *history.State) history.Decision {
			return decide(&history.StartTimer{ID: "t", In: &d})
		}
	}
	r.ok(r.startOf("a"))
	done := r.advance(by(in(time.Hour)))
	if due := r.view("a").WakeAt; due == nil || done.NextDue == nil || !due.Equal(*done.NextDue) {
		t.Errorf("after its own turn: %v, want %v", done.NextDue, due)
	}
	r.ok(r.startOf("b"))
	done = r.advance(by(in(time.Minute)))
	if due := r.view("b").WakeAt; due == nil || !due.Equal(*done.NextDue) {
		t.Errorf("the nearer one: %v, want %v", done.NextDue, due)
	}
	if idle := r.advance(by(approval)); idle.NextDue == nil || !idle.NextDue.Equal(*done.NextDue) {
		t.Errorf("idle: %v, want %v", idle.NextDue, done.NextDue)
	}
}

// Several dispatchers share the due runs: each turn of each run is run once.
func TestTwoClaimsNeverShareARun(t *testing.T) {
	t.Parallel()
	r := running(t)
	const runs = 60
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("r", i)))
		for n := range 3 {
			r.ok(r.signal(fmt.Sprint("r", i), fmt.Sprint("s", n), "1"))
		}
	}
	stores := []*Store{r.Store, r.open(r.pool), r.open(r.pool)}
	var seen calls
	var group sync.WaitGroup
	for _, s := range stores {
		a := seen.watch(by(counting(3)))
		a.Limit = 7
		group.Go(func() {
			for {
				done, err := s.Advance(t.Context(), a)
				if err != nil {
					t.Error(err)
					return
				}
				if done.Claimed == 0 {
					return
				}
			}
		})
	}
	group.Wait()
	r.drain(by(counting(3))) // what was locked when the last one looked
	var names []string
	for i := range runs {
		name := fmt.Sprint("r", i)
		names = append(names, name)
		if v := r.view(name); v.Status != history.Completed {
			t.Errorf("%s is %s", name, v.Status)
		}
	}
	for at, n := range seen.n {
		if n != 1 {
			t.Errorf("%s was turned %d times", at, n)
		}
	}
	r.folded(names...)
}

func TestSkippedRunIsClaimedAlone(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	r.due("a", time.Minute)
	release := r.hold("a")
	done := r.advance(by(approval))
	if done.Claimed != 1 || done.Skipped == nil || *done.Skipped != keyOf("a") {
		t.Fatalf("%+v", done)
	}
	if one, err := r.AdvanceOne(t.Context(), by(approval), keyOf("a")); err != nil || one.Claimed != 0 {
		t.Errorf("under another's lock: %+v %v", one, err)
	}
	answer := make(chan Advanced, 1)
	go func() {
		one, err := r.AdvanceOne(t.Context(), by(approval), keyOf("a"))
		if err != nil {
			t.Error(err)
		}
		answer <- one
	}()
	r.until("it waits for the lock", func() bool {
		return value[int](r, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 1
	})
	release()
	if one := <-answer; one.Committed != 1 {
		t.Errorf("%+v", one)
	}
	r.folded("a", "b")
	if one, err := r.AdvanceOne(t.Context(), by(approval), keyOf("a")); err != nil || one.Claimed != 0 {
		t.Errorf("not due: %+v %v", one, err)
	}
	r.due("a", time.Minute)
	other := by(approval)
	other.Codes = []Code{{"order", "1"}}
	if one, err := r.AdvanceOne(t.Context(), other, keyOf("a")); err != nil || one.Claimed != 0 {
		t.Errorf("another code: %+v %v", one, err)
	}
}

// A run that has been due for less than 200 ms is not reported: the one who holds it is probably about to let go. But
// it is said to be due, because nobody may hint at the release.
func TestFreshlyLockedRunIsDueSoon(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.due("a", -200*time.Millisecond)
	r.hold("a")
	due := *r.view("a").WakeAt
	r.until("it is due", func() bool { return value[bool](r, `select wake_at < clock_timestamp() from runs`) })
	done := r.advance(by(approval))
	late := value[bool](r, `select wake_at <= clock_timestamp() - interval '200 ms' from runs`) // a slow machine
	if !late && (done.Skipped != nil || done.NextDue == nil || !done.NextDue.Equal(due)) {
		t.Errorf("%+v", done)
	}
}

func TestDroppedRunStaysDue(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	r.due("a", time.Minute)
	before := r.view("a")
	a := by(approval)
	inner := a.Decide
	a.Decide = func(run history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		out, _ := inner(run, s, now, rej)
		if run.Key == keyOf("a") {
			return out, Drop
		}
		return out, Commit
	}
	if done := r.advance(a); done.Claimed != 2 || done.Committed != 1 {
		t.Errorf("%+v", done)
	}
	if diff := cmp.Diff(before, r.view("a")); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
	// It is found at once, however long it has been due.
	if done := r.advance(by(approval)); done.Committed != 1 {
		t.Errorf("the dropped run was not found: %+v", done)
	}
	r.folded("a", "b")
}

// A turn that is cut by its event budget goes on at once.
func TestCutTurnAsksForMore(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(counting(2)))
	r.ok(r.signal("a", "s1", "1"))
	r.ok(r.signal("a", "s2", "1"))
	cut := by(nil)
	cut.Decide = func(run history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		turn, err := history.NewTurn(s, run, now, history.DefaultLimits(), rej)
		if err != nil {
			t.Error(err)
			return history.Outcome{}, Drop
		}
		if turn.Next() {
			turn.Decide(counting(2)(turn.State()))
			turn.Cut()
		}
		return turn.Finish(), Commit
	}
	if done := r.advance(cut); !done.Full {
		t.Errorf("%+v", done)
	}
	r.drain(by(counting(2)))
	if v := r.view("a"); v.Status != history.Completed {
		t.Errorf("%+v", v)
	}
	r.folded("a")
}

// The database's clock was set back: time does not go back in a history.
func TestClockThatWentBack(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.sql(`update events set at = at + interval '1 hour'`)
	r.sql(`update runs set started_at = started_at + interval '1 hour', updated_at = updated_at + interval '1 hour'`)
	before := r.view("a")
	r.advance(by(approval))
	if v := r.view("a"); v.NextSeq != 3 || !v.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("%+v", v)
	}
	if err := r.Block(t.Context(), keyOf("a"), 3, history.BlockPanic, "x"); err != nil {
		t.Error(err)
	}
	r.folded("a")
}
