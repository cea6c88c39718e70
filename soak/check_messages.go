package main

import (
	"encoding/json"
	"reflect"
	"time"
)

// checkSignals compares what was acknowledged with what was received and with what the API says became of it.
func (c *runCheck) checkSignals() {
	for _, e := range c.arrivals {
		f := c.facts.all[identity{kindSignal, c.id, e.Data.SignalID}]
		c.wants(f != nil && f.known, "signal %s is in the history, and nobody was told so", e.Data.SignalID)
	}
	for _, f := range c.facts.signals {
		e, found := c.arrivals[f.receipt.Sequence]
		if !found || e.Data.SignalID != f.id {
			c.wants(false, "signal %s is lost: it was acknowledged with sequence %d", f.id, f.receipt.Sequence)
			continue
		}
		c.wants(e.Data.Name == f.name && sameJSON(e.Data.Payload, f.payload),
			"signal %s is another than the one acknowledged", f.id)
		c.wants(sameTime(e.At, f.receipt.ReceivedAt), "signal %s was received at another time than was acknowledged", f.id)
		c.checkFate(f)
	}
	unread := len(c.arrivals) - len(c.taken)
	c.wants(c.run.UnreadSignals == unread, "it says that %d signals are unread, and there are %d", c.run.UnreadSignals, unread)
}

// checkFate compares what became of a signal with what the API says.
func (c *runCheck) checkFate(f *fact) {
	shown, found := c.run.fates[f.id]
	if !found {
		c.wants(false, "signal %s has no receipt", f.id)
		return
	}
	want := "queued"
	if c.run.Status.Ended() {
		want = "unread_at_end"
	}
	if by, read := c.taken[f.receipt.Sequence]; read {
		want = "consumed"
		w := shown.ConsumedBy
		c.wants(w != nil && w.WaitID == by.Data.WaitID && w.Generation == by.Generation,
			"signal %s: its receipt names another wait than its history", f.id)
	}
	c.wants(shown.State == want, "signal %s is %s, not %s", f.id, shown.State, want)
	c.wants(shown.Sequence == f.receipt.Sequence && shown.ReceivedAt == f.receipt.ReceivedAt && shown.Name == f.name,
		"signal %s has another receipt than the one acknowledged", f.id)
}

// checkWaits checks that signals of a name are read in the order of their sequence, by waits for that name, before the
// deadline of the wait; and that no wait timed out that could have had one.
func (c *runCheck) checkWaits() {
	last := map[string]int64{} // name to the seq of the signal that was read last
	for _, e := range c.run.events {
		opened := c.waits[waitKey(e)]
		switch d := e.Data; e.Type {
		case "wait.completed":
			s := c.arrivals[d.SignalSeq]
			c.wants(s.Data.SignalID == d.SignalID,
				"wait %s read signal %s, which was not received as %d", d.WaitID, d.SignalID, d.SignalSeq)
			c.wants(s.Data.Name == opened.Data.Signal, "wait %s read a signal of another name", d.WaitID)
			c.wants(d.SignalSeq > last[s.Data.Name], "signal %s is read after one that came later", d.SignalID)
			last[s.Data.Name] = d.SignalSeq
			deadline := opened.Data.Deadline
			c.wants(deadline == nil || s.At.Before(*deadline), "wait %s read a signal that came after its deadline", d.WaitID)
		case "wait.timed_out":
			deadline := opened.Data.Deadline
			if deadline == nil {
				c.wants(false, "wait %s timed out without a deadline", d.WaitID)
				continue
			}
			for seq, s := range c.arrivals {
				missed := s.Data.Name == opened.Data.Signal && seq > last[s.Data.Name] && s.At.Before(*deadline)
				c.wants(!missed, "wait %s timed out, and signal %s had come before its deadline", d.WaitID, s.Data.SignalID)
			}
		}
	}
}

// checkHooks compares what was acknowledged and refused with how each hook ended.
func (c *runCheck) checkHooks() {
	for id, e := range c.closings {
		resumed, disposed := c.facts.resumed[id], c.facts.disposed[id]
		state := map[string]string{"hook.resumed": "resumed", "hook.disposed": "disposed", "hook.expired": "expired"}[e.Type]
		switch {
		case e.Type == "hook.closed":
			state = e.Data.Cause
		case e.Type == "hook.resumed":
			c.wants(resumed != nil, "hook %s was answered, and nobody was told so", id)
		case e.Type == "hook.disposed" && !e.Data.ByCode:
			c.wants(disposed != nil, "hook %s was withdrawn, and nobody was told so", id)
		}
		c.wants(c.run.hooks[id].State == state, "hook %s is %s, not %s", id, c.run.hooks[id].State, state)
		for _, k := range []kind{kindResume, kindDispose} {
			if f := c.facts.all[identity{k, c.id, id}]; f != nil && !f.known {
				c.wants(f.refusal == refusalBy(k, state),
					"%s of hook %s was refused with %q, and the hook is %s", k, id, f.refusal, state)
			}
		}
		deadline := c.opened[id].Data.ExpiresAt
		early := deadline == nil || e.At.Before(*deadline)
		c.wants(early || e.Type == "hook.expired", "hook %s: %s after its deadline", id, e.Type)
		c.wants(!early || e.Type != "hook.expired", "hook %s expired before its deadline", id)
	}
	for id, f := range c.facts.resumed {
		e := c.closings[id]
		ok := e.Type == "hook.resumed" && e.Seq == f.receipt.Sequence && sameTime(e.At, f.receipt.ReceivedAt)
		c.wants(ok && sameJSON(e.Data.Payload, f.payload), "the answer to hook %s is lost: it was acknowledged", id)
	}
	for id, f := range c.facts.disposed {
		e := c.closings[id]
		ok := e.Type == "hook.disposed" && e.Seq == f.receipt.Sequence && sameTime(e.At, f.receipt.ReceivedAt)
		c.wants(ok, "the withdrawal of hook %s is lost: it was acknowledged", id)
	}
	c.wants(len(c.run.hooks) == len(c.opened), "%d hooks are listed, and %d were opened", len(c.run.hooks), len(c.opened))
}

// refusalBy is what a message to a hook that ended like this is refused with.
func refusalBy(k kind, state string) string {
	if state == "resumed" {
		return map[kind]string{kindResume: "hook-payload-conflict", kindDispose: "hook-already-resumed"}[k]
	}
	return "hook-closed " + state
}

// checkCancel compares an acknowledged wish to cancel with the history.
func (c *runCheck) checkCancel() {
	wishes := 0
	for _, e := range c.run.events {
		if e.Type != "run.cancel_requested" {
			continue
		}
		wishes++
		f := c.facts.cancel
		c.wants(f != nil, "it was cancelled, and nobody was told so")
		c.wants(f == nil || sameTime(e.At, f.receipt.ReceivedAt), "it was cancelled at another time than was acknowledged")
		c.wants(f == nil || e.Seq == f.receipt.Sequence, "it was cancelled by event %d, and another one was acknowledged", e.Seq)
	}
	c.wants(wishes <= 1, "it was cancelled %d times", wishes)
	c.wants(c.facts.cancel == nil || wishes == 1, "its cancellation is lost: it was acknowledged")
}

// sameJSON compares two JSON values, not their spellings.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// sameTime compares a time with one that was written.
func sameTime(at time.Time, written string) bool {
	t, err := time.Parse(time.RFC3339Nano, written)
	return err == nil && t.Equal(at)
}
