package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// waiters counts the connections that wait for a lock in the test's database.
func (r *acceptRig) waiters() int {
	return value[int](r, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
}

func TestLockedRunWaitsAsideInOrder(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.LockTimeout = 20 * time.Second })
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	release := r.hold("a")
	var aside []<-chan Answer
	for i, m := range r.messagesTo("a", 5) {
		aside = append(aside, r.send(m))
		if i == 0 {
			r.until("the side lane waits for the run", func() bool { return r.waiters() == 1 })
			continue
		}
		r.until("the call follows", func() bool { return r.side.waiting() == i })
	}
	for i, m := range r.messagesTo("b", 5) { // nobody else is held up
		if got := r.ok(m); got.Sequence != int64(2+i) {
			t.Errorf("b: seq %d, want %d", got.Sequence, 2+i)
		}
	}
	for _, answer := range aside {
		select {
		case a := <-answer:
			t.Fatalf("answered while the run is locked: %+v", a)
		default:
		}
	}
	release()
	for i, answer := range aside {
		if a := r.await(answer); a.Err != nil || a.Receipt.Sequence != int64(2+i) {
			t.Errorf("a: %+v, want seq %d", a, 2+i)
		}
	}
	r.until("the side lane is empty", func() bool { return r.side.size() == 0 })
	r.ok(r.signal("a", "after", "1"))
	r.consistent()
}

// A call does not overtake those of its run that wait aside, even if the run is free by then.
func TestCallsFollowTheirRunAside(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.LockTimeout = 20 * time.Second; c.SideLanes = 1 })
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	releaseA, releaseB := r.hold("a"), r.hold("b")
	blocker := r.send(r.signal("b", "s1", "1"))
	r.until("the one side transaction waits for b", func() bool { return r.waiters() == 1 })
	first := r.send(r.signal("a", "s1", "1"))
	r.until("a waits behind it", func() bool { return r.side.waiting() == 1 })
	releaseA()
	second := r.send(r.signal("a", "s2", "1"))
	r.until("the second call has found its place", func() bool { return r.side.waiting() == 2 || len(second) == 1 })
	releaseB()
	for i, answer := range []<-chan Answer{first, second} {
		if a := r.await(answer); a.Err != nil || a.Receipt.Sequence != int64(2+i) {
			t.Errorf("call %d: %+v, want seq %d", i, a, 2+i)
		}
	}
	if a := r.await(blocker); a.Err != nil {
		t.Error(a.Err)
	}
}

func TestLockedRunIsUnavailableAfterTheTimeout(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	r := running(t, func(c *Config) { c.LockTimeout = limit })
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	release := r.hold("a")
	began := time.Now()
	answer := r.send(r.signal("a", "s1", "1"))
	r.ok(r.signal("b", "s1", "1"))
	a := r.await(answer)
	if !errors.Is(a.Err, ErrUnavailable) || a.Err.Error() != "database unavailable" {
		t.Errorf("error %v, want ErrUnavailable and no more words", a.Err)
	}
	if waited := time.Since(began); waited < limit {
		t.Errorf("gave up after %v, want %v", waited, limit)
	}
	release()
	if got := r.ok(r.signal("a", "s1", "1")); got.Verdict != history.Accepted {
		t.Errorf("%s, want accepted: nothing had been stored", got.Verdict)
	}
	r.consistent()
}

// A run that is not locked is unknown only when a plain read does not find it.
func TestNotReturnedIsNotUnknown(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, func(c *Config) { c.LockTimeout = 20 * time.Second })
	r.start(r.Store)
	r.ok(r.startOf("a"))
	release := r.hold("a")
	locked, unknown := r.send(r.signal("a", "s1", "1")), r.send(r.signal("nobody", "s1", "1"))
	if a := r.await(unknown); !errors.Is(a.Err, history.ErrRunNotFound) {
		t.Errorf("unknown run: %+v", a)
	}
	release()
	if a := r.await(locked); a.Err != nil {
		t.Errorf("locked run: %+v", a)
	}
}

// A host that is starting the same run keeps that start waiting, and nobody else.
func TestStartOfARunThatIsBeingInserted(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *acceptRig, commit, rollback func(context.Context) error) (want history.Verdict){
		"committed": func(_ *acceptRig, commit, _ func(context.Context) error) history.Verdict {
			_ = commit(context.Background())
			return history.Duplicate
		},
		"rolled back": func(_ *acceptRig, _, rollback func(context.Context) error) history.Verdict {
			_ = rollback(context.Background())
			return history.Accepted
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAcceptRig(t, func(c *Config) { c.LockTimeout = 20 * time.Second })
			host, err := r.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.AcceptTx(t.Context(), host, []history.Message{r.startOf("a")}); err != nil {
				t.Fatal(err)
			}
			answers := r.line(r.startOf("c"), r.startOf("a"), r.signal("a", "s1", "1"), r.startOf("b"), r.signal("c", "s1", "1"))
			r.start(r.Store)
			for _, i := range []int{0, 3, 4} {
				if a := r.await(answers[i]); a.Err != nil || a.Receipt.Verdict != history.Accepted {
					t.Errorf("message %d: %+v", i, a)
				}
			}
			r.until("the start waits aside", func() bool { return r.waiters() == 1 })
			want := end(r, host.Commit, host.Rollback)
			if a := r.await(answers[1]); a.Err != nil || a.Receipt.Verdict != want {
				t.Errorf("start: %+v, want %s", a, want)
			}
			if a := r.await(answers[2]); a.Err != nil || a.Receipt.Sequence != 2 {
				t.Errorf("its signal: %+v", a)
			}
			r.consistent()
		})
	}
}

// A run that stays due is left alone by the lane for a moment, in the order of its calls.
func TestHotRunGoesAside(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a")) // due from now on: nothing advances it
	for i := range 3 * hotBatches {
		if got := r.ok(r.signal("a", fmt.Sprint(i), "1")); got.Sequence != int64(2+i) {
			t.Errorf("seq %d, want %d", got.Sequence, 2+i)
		}
	}
	hot := map[history.RunKey]int{}
	for range hotBatches {
		hot = heat(hot, []history.RunKey{keyOf("a"), keyOf("b")})
	}
	hot = heat(hot, []history.RunKey{keyOf("a")})
	if len(hot) != 1 || hot[keyOf("a")] != hotBatches+1 {
		t.Errorf("heat %v", hot)
	}
	other := newAcceptRig(t)
	c := &call{ctx: t.Context(), message: r.signal("a", "x", "1"), run: keyOf("a"), done: make(chan Answer, 1)}
	if left := other.collect(c, hot); left != nil || other.side.size() != 1 || !other.side.runs[keyOf("a")].pause {
		t.Errorf("a hot run stays in the lane: %v", left)
	}
}

// The side lane is bounded: what is too much is refused at once, and what waits keeps its place.
func TestSideLaneIsBounded(t *testing.T) {
	t.Parallel()
	l := newSideLane(3)
	calls := make([]*call, 5)
	for i := range calls {
		calls[i] = &call{ctx: t.Context(), run: keyOf(fmt.Sprint(i % 2)), done: make(chan Answer, 1)}
		if !l.follow(calls[i]) {
			l.open(calls[i], false)
		}
	}
	for i, c := range calls {
		select {
		case a := <-c.done:
			if i < 3 || !errors.Is(a.Err, ErrUnavailable) {
				t.Errorf("call %d: %v", i, a.Err)
			}
		default:
			if i >= 3 {
				t.Errorf("call %d waits beyond the bound", i)
			}
		}
	}
	run := <-l.ready
	if got, _ := l.take(run, 1); len(got) != 1 || got[0] != calls[0] {
		t.Errorf("took %v first", got)
	}
	l.leave(run) // one more waits: the run goes to the back of the line
	if next := <-l.ready; next != keyOf("1") {
		t.Errorf("next is %v, want the other run", next)
	}
	if got, _ := l.take(<-l.ready, 5); len(got) != 1 || got[0] != calls[2] {
		t.Errorf("took %v, want the third call", got)
	}
	l.leave(run)
	if l.size() != 1 || l.waiting() != 1 {
		t.Errorf("%d runs and %d calls are left, want one of each", l.size(), l.waiting())
	}
}

func (l *sideLane) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

func (l *sideLane) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queued
}
