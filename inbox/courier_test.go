package inbox

import (
	"fmt"
	"testing"
	"time"
)

// However many messages were delivered long ago, they go as fast as they came.
func TestOldMessagesGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.pool.Exec(t.Context(), `insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, received_at,
			deadline, try_at, resolved_at)
		select 'default', 'shop', 'shop:' || i, 'signal', 'r', 'paid', sha256(''), '1', 'delivered', now(), now(), now(), now() - interval '8 days'
		from generate_series(1, 2 * $1 + 500) i`, sweptAtATime); err != nil {
		t.Fatal(err)
	}
	r.background(r.another(func(c *Config) { c.Poll = 500 * time.Millisecond }).Run)
	r.until("they are gone", func() bool {
		var left int
		err := r.pool.QueryRow(t.Context(), "select count(*) from inbox").Scan(&left)
		return err == nil && left == 0
	})
}

// held keeps many messages of a source for one run, as if it had sent them.
func (r *rig) held(source, run string, n int) {
	r.t.Helper()
	if _, err := r.pool.Exec(r.t.Context(), `insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state,
			received_at, deadline, try_at)
		select 'default', $1, $1 || ':' || i, 'signal', $2, 'paid', sha256('{"n":1}'), '{"n":1}', 'held', now(), now() + interval '1 day', now()
		from generate_series(1, $3::int) i`, source, run, n); err != nil {
		r.t.Fatal(err)
	}
}

// Messages for a run that takes none now, however many and however often they are tried, do not keep those behind them.
func TestABusyRunHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.held("flood", "busy", 2*takenAtATime)
	last := paid(t, "free", "1", `{"n":1}`)
	r.want("early", last, patient, "held ")
	r.start("busy")
	r.start("free")
	for i := range 50 {
		r.want("fills the run", paid(t, "busy", fmt.Sprint("f", i), `{"n":1}`), patient, "accepted ")
	}
	for range 3 {
		if _, err := r.poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.pool.Exec(t.Context(), "update inbox set try_at = now() where state = 'held'"); err != nil {
			t.Fatal(err)
		}
	}
	if l := r.letterOf(last); l.State != StateDelivered {
		t.Errorf("got %+v", l)
	}
}

// A poll looks at a part of a long inbox, the next one goes on behind it, and the first part has its turn again.
func TestALongInboxIsLookedAtInParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := paid(t, "r", "first", `{"n":1}`)
	r.want("early", first, patient, "held ")
	r.held("crowd", "nobody", lookedAtATime)
	last := paid(t, "r", "last", `{"n":1}`)
	r.want("early", last, patient, "held ")
	poll := func() {
		if more, err := r.poll(t.Context()); more || err != nil {
			t.Fatal(more, err)
		}
	}
	poll()
	r.start("r")
	poll()
	if f, l := r.letterOf(first).State, r.letterOf(last).State; f != StateHeld || l != StateDelivered {
		t.Errorf("behind the first part: the first is %s, the last %s", f, l)
	}
	poll()
	if f := r.letterOf(first).State; f != StateDelivered {
		t.Errorf("from the beginning again: it is %s", f)
	}
}
