package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// keep holds a message to the run prefix/it, signal or hook.
func (r *acceptRig) keep(prefix, reason string, change ...func(*NewMessage)) StoredMessage {
	r.t.Helper()
	m := messageFor(prefix, reason)
	for _, c := range change {
		c(&m)
	}
	held, err := r.HoldMessage(r.t.Context(), m)
	if err != nil {
		r.t.Fatal(err)
	}
	return held
}

// take takes what there is to take, and returns the identities.
func (r *acceptRig) take(lease time.Duration) (ids []string) {
	r.t.Helper()
	for _, m := range r.taken(lease) {
		ids = append(ids, fmt.Sprint(m.Key.ID, " ", m.Attempt, " ", m.Late))
	}
	return ids
}

func (r *acceptRig) taken(lease time.Duration) []StoredMessage {
	r.t.Helper()
	all, err := r.TakeMessages(r.t.Context(), MessageWindow{}, 100, lease)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r *acceptRig) wantTaken(what string, lease time.Duration, want ...string) {
	r.t.Helper()
	if got := r.take(lease); fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func toHook(m *NewMessage) { m.Kind, m.Name = "hook", "h" }

// A message is taken when what it is for is there, in the order it came, by one taker at a time.
func TestInbox_takes_what_can_be_delivered(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.keep("late", "", func(m *NewMessage) { m.Hold = 0 })
	for _, prefix := range []string{"b", "a", "hook"} {
		r.keep(prefix, "", func(m *NewMessage) {
			if prefix == "hook" {
				toHook(m)
			}
		})
	}
	r.keep("dead", "schema")
	r.keep("foreign", "", func(m *NewMessage) { m.Key.Namespace = "other" })
	r.wantTaken("the one whose deadline has passed", time.Hour, "src:late 1 true")
	for _, run := range []string{"a/it", "b/it", "hook/it", "dead/it", "foreign/it"} {
		r.ok(r.startOf(run))
	}
	r.wantTaken("those whose runs are there", 0, "src:b 1 false", "src:a 1 false")
	r.wantTaken("those whose lease is over", time.Hour, "src:b 2 false", "src:a 2 false")
	r.wantTaken("nothing", time.Hour)
	r.drain(by(func(s *history.State) history.Decision {
		return decide(hookOn("h", "token of "+string(s.Key().RunID)), wait("w"))
	}))
	r.wantTaken("the one whose hook is there", time.Hour, "src:hook 1 false")

	r.keep("end", "", toHook)
	r.ok(r.startOf("end/it"))
	r.wantTaken("a hook that may come", time.Hour)
	r.ok(&history.CancelRun{Run: keyOf("end/it")})
	r.wantTaken("a hook that never comes", time.Hour, "src:end 1 false")
}

// Takers at the same time share what there is.
func TestInbox_takers_share(t *testing.T) {
	t.Parallel()
	r := running(t)
	const n = 60
	for i := range n {
		r.keep(fmt.Sprint(i), "", func(m *NewMessage) { m.RunID = "it" })
	}
	r.ok(r.startOf("it"))
	seen, mu := map[string]int{}, sync.Mutex{}
	var takers sync.WaitGroup
	for range 4 {
		takers.Go(func() {
			for {
				all, err := r.TakeMessages(context.Background(), MessageWindow{}, 7, time.Hour)
				if err != nil {
					t.Error(err)
				}
				if len(all) == 0 && value[int](r, `select count(*) from inbox where not taken`) == 0 || err != nil {
					return
				}
				mu.Lock()
				for _, m := range all {
					seen[m.Key.ID]++
				}
				mu.Unlock()
			}
		})
	}
	takers.Wait()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
	if len(seen) != n {
		t.Errorf("%d were taken", len(seen))
	}
}

// What is known stays as it was first said; a source without room keeps nothing new.
func TestInbox_holds_once_and_has_bounds(t *testing.T) {
	t.Parallel()
	r := running(t)
	first := r.keep("a", "", func(m *NewMessage) { m.Room = 2 })
	again := r.keep("a", "schema", func(m *NewMessage) { m.Payload, m.RunID, m.Room = payload(t, "2"), "other", 0 })
	if again.Row != first.Row || again.State != MessageHeld || again.RunID != "a/it" || again.Payload.Digest() != first.Payload.Digest() {
		t.Errorf("got %+v, then %+v", first, again)
	}
	if span := first.Deadline.Sub(first.ReceivedAt); span != time.Hour {
		t.Errorf("it waits %s", span)
	}
	dead := r.keep("b", "schema", func(m *NewMessage) { m.Room = 2 })
	full := messageFor("c", "")
	full.Room = 2
	if _, err := r.HoldMessage(t.Context(), full); !errors.Is(err, ErrMessageNotFound) {
		t.Errorf("beyond its room: %v", err)
	}
	full.Source = "another"
	if _, err := r.HoldMessage(t.Context(), full); err != nil {
		t.Errorf("another source: %v", err)
	}
	if ok, err := r.DiscardMessage(t.Context(), spec.DefaultNamespace, dead.Row, "ada"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.keep("d", "", func(m *NewMessage) { m.Room = 2 })
}

// Two who hold the same message at once keep one, and both read that.
func TestInbox_holders_meet(t *testing.T) {
	t.Parallel()
	r := running(t)
	rows := make([]int64, 16)
	var holders sync.WaitGroup
	for i := range rows {
		holders.Go(func() {
			m, err := r.HoldMessage(context.Background(), messageFor("a", ""))
			if err != nil {
				t.Error(err)
			}
			rows[i] = m.Row
		})
	}
	holders.Wait()
	for _, row := range rows {
		if row != rows[0] {
			t.Errorf("got %v", rows)
		}
	}
}

// yes says that something was changed.
func (r *acceptRig) yes(changed bool, err error) bool {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	return changed
}

// A taker whose lease was over decides nothing any more, but that it delivered is a fact.
func TestInbox_stale_takers(t *testing.T) {
	t.Parallel()
	r := running(t)
	ctx, ns := t.Context(), spec.DefaultNamespace
	r.keep("a", "")
	r.ok(r.startOf("a/it"))
	stale := r.taken(0)[0]
	fresh := r.taken(time.Hour)[0]
	if r.yes(r.SettleMessage(ctx, stale, MessageDead, "schema")) || r.yes(r.PostponeMessage(ctx, stale, 0)) {
		t.Error("a stale taker decides")
	}
	if r.yes(r.DiscardMessage(ctx, ns, fresh.Row, "ada")) || r.yes(r.ReplayMessage(ctx, ns, fresh.Row, 0, "ada")) {
		t.Error("what is being delivered is discarded or replayed")
	}
	if !r.yes(r.PostponeMessage(ctx, fresh, 0)) || r.yes(r.SettleMessage(ctx, fresh, MessageDead, "schema")) {
		t.Error("what was given back is settled")
	}
	if !r.yes(r.DiscardMessage(ctx, ns, fresh.Row, "ada")) || r.yes(r.DiscardMessage(ctx, ns, fresh.Row, "bob")) {
		t.Error("a message is discarded never, or twice")
	}
	if !r.yes(r.SettleMessage(ctx, stale, MessageDelivered, "")) || r.yes(r.SettleMessage(ctx, fresh, MessageDelivered, "")) {
		t.Error("a delivery is not stored, or twice")
	}
	m, err := r.KnownMessage(ctx, stale.Key)
	if err != nil || m.State != MessageDelivered || m.ResolvedAt == nil || m.Actor != "ada" {
		t.Errorf("got %+v, %v", m, err)
	}
}

// A replayed message waits as long as it was to wait at first, and a while at least.
func TestInbox_replay(t *testing.T) {
	t.Parallel()
	r := running(t)
	ctx, ns := t.Context(), spec.DefaultNamespace
	for hold, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, 0: time.Minute} {
		m := r.keep(hold.String(), "schema", func(m *NewMessage) { m.Hold = hold })
		if !r.yes(r.ReplayMessage(ctx, ns, m.Row, time.Minute, "ada")) || r.yes(r.ReplayMessage(ctx, ns, m.Row, time.Minute, "bob")) {
			t.Error("it is replayed never, or twice")
		}
		got, err := r.ReadMessage(ctx, ns, m.Row)
		if err != nil || got.State != MessageHeld || got.Reason != "" || got.Actor != "ada" || got.Deadline.Before(m.ReceivedAt.Add(want)) {
			t.Errorf("%s: got %+v, %v", hold, got, err)
		}
		if r.yes(r.ReplayMessage(ctx, "other", m.Row, time.Minute, "ada")) || r.yes(r.DiscardMessage(ctx, "other", m.Row, "ada")) {
			t.Error("another namespace decides")
		}
		if _, err := r.ReadMessage(ctx, "other", m.Row); !errors.Is(err, ErrMessageNotFound) {
			t.Errorf("another namespace reads: %v", err)
		}
	}
}

func TestInbox_list_and_sweep(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i := range 5 {
		reason := ""
		if i%2 == 1 {
			reason = "schema"
		}
		r.keep(fmt.Sprint(i), reason, func(m *NewMessage) { m.Source = []string{"x", "y"}[i/3] })
	}
	r.keep("foreign", "", func(m *NewMessage) { m.Key.Namespace = "other" })
	list := func(f MessageFilter) (ids []string) {
		for f.Namespace = "default"; ; {
			page, next, err := r.ListMessages(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				if !m.Payload.IsZero() {
					t.Error("a list has payloads")
				}
				ids = append(ids, m.Key.ID[len("src:"):])
			}
			if f.Cursor = next; next == "" {
				return ids
			}
		}
	}
	for want, f := range map[string]MessageFilter{
		"[4 3 2 1 0]": {Limit: 2}, "[3 1]": {State: MessageDead, Limit: 1}, "[2 1 0]": {Source: "x"}, "[3]": {RunID: "3/it"},
		"[1]": {Reason: "schema", Source: "x"}, "[]": {State: MessageDiscarded},
	} {
		if got := fmt.Sprint(list(f)); got != want {
			t.Errorf("%+v: got %s, want %s", f, got, want)
		}
	}
	if _, _, err := r.ListMessages(t.Context(), MessageFilter{Cursor: letterCursor.cursor(1)}); err == nil {
		t.Error("a cursor of another list is taken")
	}
	r.sql(`update inbox set state = 'delivered', reason = '', resolved_at = now() - interval '2 days' where message_id in ('src:1', 'src:2', 'src:3')`)
	for _, want := range []int{2, 1, 0} {
		if n, err := r.SweepMessages(t.Context(), 2, 24*time.Hour); n != want || err != nil {
			t.Errorf("swept %d, %v, want %d", n, err, want)
		}
	}
	if got := fmt.Sprint(list(MessageFilter{})); got != "[4 0]" {
		t.Errorf("left %s", got)
	}
}
