package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
)

var patient = Policy{Hold: time.Hour}

// What a run does with a message, by its state.
func TestReceive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("r")
	r.start("ended")
	r.want("before the end", paid(t, "ended", "e1", `{"n":1}`), patient, "accepted ")
	r.end("ended")

	first := paid(t, "r", "1", `{"n":1}`)
	r.want("first", first, patient, "accepted ")
	r.want("again", first, patient, "duplicate ")
	r.want("other content", paid(t, "r", "1", `{"n":2}`), patient, "a message of this identity is known that differs in payload")
	r.want("re-spelled", paid(t, "r", "1", `{ "n": 1.0 }`), patient, "duplicate ")
	r.want("redelivered after the end", paid(t, "ended", "e1", `{"n":1}`), patient, "duplicate ")
	r.want("other content after the end", paid(t, "ended", "e1", `{"n":2}`), patient, "a message of this identity is known that differs in payload")
	r.want("new after the end", paid(t, "ended", "e2", `{"n":1}`), patient, "ignored run-ended")
	undeclared := paid(t, "r", "u", `{"n":1}`)
	undeclared.Name = "shipped"
	r.want("undeclared", undeclared, patient, "ignored signal-not-declared")
	r.want("nobody, and it does not wait", paid(t, "none", "1n", `{"n":1}`), Policy{}, "ignored run-not-found")

	r.hooked("h")
	r.want("no such hook", func() Message { m := approved(t, "h", "h0", "1"); m.Name = "none"; return m }(), Policy{}, "ignored hook-not-found")
	r.want("a hook", approved(t, "h", "h1", "true"), patient, "accepted ")
	r.want("the hook again", approved(t, "h", "h1", "true"), patient, "duplicate ")
	r.want("another answer", approved(t, "h", "h2", "false"), patient, "a message of this identity is known that differs in payload")
	r.hooked("closed")
	r.end("closed")
	r.want("a closed hook", approved(t, "closed", "h3", "1"), patient, "ignored hook-closed")

	huge := paid(t, "r", "huge", `{"n":1}`)
	huge.Name = strings.Repeat("n", 300)
	if _, err := r.Receive(t.Context(), huge, patient); !is[*engine.InvalidError](err) {
		t.Errorf("a name that is none: %v", err)
	}
	letters, _, err := r.List(t.Context(), "default", Filter{})
	if err != nil || len(letters) != 0 {
		t.Errorf("the inbox has %v, %v", letters, err)
	}
	history, err := r.eng.Receipt(t.Context(), "r", "shop:1")
	if err != nil || history.Actor != "source:shop" || history.Source != "ingress" {
		t.Errorf("got %+v, %v", history, err)
	}
}

// A message that comes before its run is held once, is known, and is the run's when that is there.
func TestEarlyMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	signal, hook := paid(t, "r", "1", `{"n":1}`), approved(t, "r", "2", `{"ok":true}`)
	for _, m := range []Message{signal, hook} {
		r.want("early", m, patient, "held ")
		r.want("again", m, patient, "duplicate ")
	}
	r.want("other content", paid(t, "r", "1", `{"n":2}`), patient, "a message of this identity is known that differs in payload")
	r.want("another run", paid(t, "s", "1", `{"n":1}`), patient, "a message of this identity is known that differs in run_id")
	r.want("another kind", approved(t, "r", "1", `{"n":1}`), patient, "a message of this identity is known that differs in kind, name")
	r.background(r.Run)
	r.hooked("r")
	r.stands(signal, StateDelivered, "")
	r.stands(hook, StateDelivered, "")
	for _, m := range []Message{signal, hook} {
		r.want("after it was delivered", m, patient, "duplicate ")
	}
	if s, h := r.received("r", "signal.received"), r.received("r", "hook.resumed"); s != 1 || h != 1 {
		t.Errorf("%d signals and %d answers", s, h)
	}
}

// Couriers of several processes deliver each message once.
func TestTwoCouriers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 40
	var all []Message
	for i := range n {
		m := paid(t, fmt.Sprint("r", i%4), fmt.Sprint(i), `{"n":1}`)
		r.want("early", m, patient, "held ")
		all = append(all, m)
	}
	for range 3 {
		r.background(r.another().Run)
	}
	for i := range 4 {
		r.start(fmt.Sprint("r", i))
	}
	for _, m := range all {
		r.stands(m, StateDelivered, "")
	}
	for i := range 4 {
		if got := r.received(fmt.Sprint("r", i), "signal.received"); got != n/4 {
			t.Errorf("r%d has %d signals", i, got)
		}
	}
}

// A run that takes nothing now, because somebody holds its lock, holds up what is for itself alone, in its order.
func TestALockedRunHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := paid(t, "locked", "1", `{"n":1}`), paid(t, "locked", "2", `{"n":2}`)
	other := paid(t, "free", "3", `{"n":3}`)
	for _, m := range []Message{first, second, other} {
		r.want("early", m, patient, "held ")
	}
	r.start("locked")
	r.start("free")
	tx, err := r.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "select from runs where run_id = 'locked' for update"); err != nil {
		t.Fatal(err)
	}
	r.background(r.Run)
	r.stands(other, StateDelivered, "")
	if l := r.letterOf(first); l.State != StateHeld {
		t.Errorf("got %+v", l)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.stands(second, StateDelivered, "")
	r.stands(first, StateDelivered, "")
	var order string
	if err := r.pool.QueryRow(t.Context(), `select string_agg(s.signal_id, ' ' order by s.seq) from signals s join runs r on r.id = s.run
		where r.run_id = 'locked'`).Scan(&order); err != nil || order != "shop:1 shop:2" {
		t.Errorf("received in the order %s: %v", order, err)
	}
}

// A courier that is gone after it delivered, and before it could say so, leaves a duplicate.
func TestKilledBetweenDeliveryAndMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := paid(t, "r", "1", `{"n":1}`)
	r.want("early", m, patient, "held ")
	r.start("r")
	taken, err := r.store.TakeMessages(t.Context(), db.MessageWindow{}, 10, 0) // its lease is over at once
	if err != nil || len(taken) != 1 {
		t.Fatal(len(taken), err)
	}
	if _, err := r.deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	r.background(r.Run)
	if l := r.stands(m, StateDelivered, ""); l.Attempt != 2 {
		t.Errorf("got %+v", l)
	}
	if n := r.received("r", "signal.received"); n != 1 {
		t.Errorf("%d signals", n)
	}
}

// A message that arrives while its run starts, many times at once, is delivered once, by whomever.
func TestReceivedWhileTheRunStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.background(r.Run)
	for i := range 20 {
		run := fmt.Sprint("r", i)
		m := paid(t, run, run, `{"n":1}`)
		var senders sync.WaitGroup
		for s := range 8 {
			senders.Go(func() {
				if s == 4 {
					if _, err := r.eng.Start(t.Context(), engine.StartRequest{Workflow: "order", RunID: m.RunID}); err != nil {
						t.Error(err)
					}
					return
				}
				result, err := r.Receive(t.Context(), m, patient)
				if err != nil || result.Outcome == Ignored {
					t.Errorf("got %+v, %v", result, err)
				}
			})
		}
		senders.Wait()
		r.until("it is delivered", func() bool { return r.received(run, "signal.received") > 0 })
	}
	r.until("nothing is held", func() bool {
		held, _, err := r.List(t.Context(), "default", Filter{State: StateHeld})
		return err == nil && len(held) == 0
	})
	for i := range 20 {
		if n := r.received(fmt.Sprint("r", i), "signal.received"); n != 1 {
			t.Errorf("r%d has %d signals", i, n)
		}
	}
}

// Each way to end as a dead letter while it waits.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	expired := paid(t, "none", "1", `{"n":1}`)
	r.want("early", expired, Policy{Hold: time.Millisecond}, "held ")
	ended, broken, hookless := paid(t, "ended", "2", `{"n":1}`), paid(t, "r", "3", `{}`), approved(t, "hookless", "4", "1")
	undeclared := paid(t, "r", "5", `{"n":1}`)
	undeclared.Name = "shipped"
	for _, m := range []Message{ended, broken, hookless, undeclared} {
		r.want("early", m, patient, "held ")
	}
	r.start("ended")
	r.end("ended")
	r.start("r")
	r.start("hookless")
	r.end("hookless")
	r.background(r.Run)
	r.stands(expired, StateDead, ReasonExpired)
	r.stands(ended, StateDead, ReasonRunEnded)
	r.stands(broken, StateDead, ReasonSchema)
	r.stands(hookless, StateDead, ReasonRunEnded)
	r.stands(undeclared, StateDead, ReasonUndeclared)
	for _, m := range []Message{expired, ended, broken} {
		r.want("dead, and again", m, patient, "duplicate ")
	}
	r.want("dead, and other content", paid(t, "none", "1", `{"n":2}`), patient, "a message of this identity is known that differs in payload")
}

// A payload that breaks the schema is a dead letter at once, and so is a conflict where a source keeps them.
func TestKeptAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("r")
	broken := paid(t, "r", "1", `{}`)
	r.want("broken", broken, Policy{}, "ignored payload-schema")
	r.want("again", broken, Policy{}, "duplicate ")
	r.stands(broken, StateDead, ReasonSchema)

	keep := Policy{KeepConflicts: true}
	r.want("first", paid(t, "r", "2", `{"n":1}`), keep, "accepted ")
	other := paid(t, "r", "2", `{"n":2}`)
	r.want("other content", other, keep, "ignored conflict")
	r.want("other content again", other, keep, "ignored conflict")
	r.want("yet another", paid(t, "r", "2", `{"n":3}`), keep, "ignored conflict")
	r.want("the first one again", paid(t, "r", "2", `{"n":1}`), keep, "duplicate ")
	r.stands(other.asConflict(), StateDead, ReasonConflict)
	letters, _, err := r.List(t.Context(), "default", Filter{Reason: ReasonConflict, Source: "shop"})
	if err != nil || len(letters) != 2 {
		t.Errorf("got %v, %v", letters, err)
	}
	if n := r.received("r", "signal.received"); n != 1 {
		t.Errorf("%d signals", n)
	}
}

// A source that has no room is told to come again, which is no loss.
func TestFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Room = 2 })
	r.want("early", paid(t, "r", "1", `{"n":1}`), patient, "held ")
	r.want("early", paid(t, "r", "2", `{"n":1}`), patient, "held ")
	third := paid(t, "r", "3", `{"n":1}`)
	if _, err := r.Receive(t.Context(), third, patient); !errors.Is(err, ErrFull) || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("beyond the room: %v", err)
	}
	r.want("known, and full", paid(t, "r", "2", `{"n":1}`), patient, "duplicate ")
	r.start("r")
	r.want("deliverable, and full", third, patient, "accepted ")
	r.background(r.Run)
	r.stands(paid(t, "r", "2", `{"n":1}`), StateDelivered, "")
	r.want("there is room again", paid(t, "later", "4", `{"n":1}`), patient, "held ")
}

// A run whose backlog is full is tried again, and loses nothing.
func TestBacklogFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := paid(t, "r", "held", `{"n":1}`)
	r.want("early", m, patient, "held ")
	r.start("r")
	for i := range 50 {
		r.want("fills the run", paid(t, "r", fmt.Sprint(i), `{"n":1}`), patient, "accepted ")
	}
	if got := r.receive(paid(t, "r", "x", `{"n":1}`), patient); got != engine.ErrBacklogFull.Error() {
		t.Errorf("got %s", got)
	}
	r.background(r.another(func(c *Config) { c.Poll = time.Millisecond }).Run)
	r.until("it was tried", func() bool { l := r.letterOf(m); return l.Attempt > 0 })
	if l := r.letterOf(m); l.State != StateHeld {
		t.Errorf("got %+v", l)
	}
	r.until("it is tried less often", func() bool {
		var longer bool
		err := r.pool.QueryRow(t.Context(), "select not taken and try_at > now() + $1 * interval '1 microsecond' from inbox",
			(busyPause + busyPause/2).Microseconds()).Scan(&longer)
		return err == nil && longer
	})
}
