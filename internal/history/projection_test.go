package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// On random traces the rows are at every commit what the events say, and the schedule is what is open.
func TestProjection_rows_of_random_traces_are_what_events_say(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := anyWild(t)
		r := newRig(t, code.decide)
		r.auth.cooperative = rapid.Bool().Draw(t, "cooperative")
		r.lim.TurnEvents = rapid.IntRange(1, 40).Draw(t, "turn events")
		l := &ledger{r: r, receipts: map[string]Receipt{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l.step(t)
			if found, n := compareRows(project(r.events), r, r.now); n > 0 {
				t.Fatalf("%d differences: %v\n%s", n, found, strings.Join(r.story(), "\n"))
			}
		}
	})
}

// Whatever is lost or changed in a history, reading it and comparing rows with it does not panic; and a lost event never
// goes unseen.
func TestProjection_damaged_histories_are_differences(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := anyWild(t)
		r := newRig(t, code.decide)
		r.auth.cooperative = true
		l := &ledger{r: r, receipts: map[string]Receipt{}}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			l.step(t)
		}
		lost := rapid.IntRange(0, len(r.events)-1).Draw(t, "lost")
		gap := slices.Delete(slices.Clone(r.events), lost, lost+1)
		if _, n := compareRows(project(gap), r, r.now); n == 0 {
			t.Fatalf("event %d of %d is lost, and nothing differs", lost+1, len(r.events))
		}
		moved := edit(slices.Clone(r.events)).without(lost)
		if _, n := compareRows(project(moved), r, r.now); n == 0 {
			t.Fatalf("event %d of %d is lost, the others moved up, and nothing differs", lost+1, len(r.events))
		}
		events := slices.Clone(r.events)
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			events = damage(t, events)
		}
		found, n := compareRows(project(events), r, r.now)
		if len(found) != min(n, 100) {
			t.Fatalf("%d of %d differences are listed", len(found), n)
		}
		for _, d := range found {
			_ = d.String()
		}
	})
}

// Each law of histories is seen when it is broken, in words that name it.
func TestProjection_names_the_law_that_is_broken(t *testing.T) {
	t.Parallel()
	base := eventfulRun(t).events
	continued := func(change func(d *RunContinued)) func(edit) edit {
		return func(e edit) edit {
			d := find[RunContinued](e, 0)
			d.Hooks, d.Unread = slices.Clone(d.Hooks), slices.Clone(d.Unread)
			change(d)
			return e
		}
	}
	hook := func(d *RunContinued, id spec.HookID) *CarriedHook {
		return &d.Hooks[slices.IndexFunc(d.Hooks, func(c CarriedHook) bool { return c.ID == id })]
	}
	later := base[0].At.Add(time.Minute)
	for _, tc := range []struct {
		name string
		edit func(edit) edit
		says string // in the one difference, which is at an event
	}{
		{"a lost event", func(e edit) edit { return slices.Delete(e, 3, 4) }, "seq 4 is next"},
		{"an event twice", func(e edit) edit { return slices.Insert(e, 3, e[3]) }, "seq 5 is next"},
		{"time that goes back", func(e edit) edit { e[4].At = epoch.Add(-time.Second); return e }, "time goes back"},
		{"another generation", func(e edit) edit { e[4].Generation = 2; return e }, "another generation"},
		{"an old generation", func(e edit) edit { e[len(e)-1].Generation = 1; return e }, "another generation"},
		{"a generation left out", func(e edit) edit { e[e.at(TypeRunContinued)].Generation = 3; return e }, "another generation"},
		{"an event after the end", func(e edit) edit { return e.with(len(e)-1, &RunUnblocked{}) }, "the run has ended"},
		{"no start", func(e edit) edit { return e.without(0) }, "a generation begins"},
		{"a start by continuing", func(e edit) edit {
			d := find[RunContinued](e, 0)
			d.Unread = nil
			return edit{{Generation: 2, Seq: 1, At: epoch, Data: d}}
		}, "a run begins with run.started"},
		{"two starts", func(e edit) edit { return e.with(0, e[0].Data) }, "a run starts once"},
		{"a signal ID twice", func(e edit) edit { find[SignalReceived](e, 1).SignalID = "a1"; return e }, "the signal ID was accepted before"},
		{"an old signal ID in a new generation", func(e edit) edit {
			find[SignalReceived](e, 4).SignalID = "a1"
			return e
		}, "the signal ID was accepted before"},
		{"a signal out of order", func(e edit) edit { find[WaitCompleted](e, 0).SignalSeq++; return e }, "not the next unread one"},
		{"a signal under another ID", func(e edit) edit { find[WaitCompleted](e, 0).SignalID = "left"; return e }, "not the next unread one"},
		{"two endings of a wait", func(e edit) edit {
			i := e.at(TypeWaitCompleted)
			return e.with(i, e[i].Data)
		}, "the wait is not open"},
		{"a signal after the deadline", func(e edit) edit {
			d := find[WaitOpened](e, 0)
			at := base[0].At.Add(time.Millisecond)
			d.Deadline = &at
			return e
		}, "after the wait's deadline"},
		{"a message shown twice", func(e edit) edit {
			i := e.at(TypeWaitCompleted)
			e[i].Taken = append(slices.Clone(e[i].Taken), e[i].Taken...)
			return e
		}, "takes a message that is not the next one"},
		{"two endings of a hook", func(e edit) edit {
			i := e.at(TypeHookExpired)
			return e.with(i, e[i].Data)
		}, "the hook is not open"},
		{"a hook that ends in a later generation, too", func(e edit) edit {
			return e.with(e.at(TypeWaitOpened), &HookDisposed{HookID: "disposed"})
		}, "the hook is not open"},
		{"a hook ID of an earlier generation", func(e edit) edit {
			return e.with(e.at(TypeRunContinued), &HookCreated{HookID: "disposed", Name: "disposed"})
		}, "the hook ID was used before"},
		{"a hook left open", func(e edit) edit { return e.without(e.at(TypeHookClosed)) }, "a hook is left open"},
		{"a hook left open by a cancellation", func(e edit) edit {
			return append(e[:e.at(TypeHookClosed)], Event{
				Generation: 2, Seq: e[e.at(TypeHookClosed)].Seq, At: later, Data: &RunCancelled{},
			})
		}, "a hook is left open"},
		{"a wait left open", func(e edit) edit { return e.without(e.at(TypeWaitWithdrawn)) }, "a wait or a timer is left open"},
		{"a timer left open", func(e edit) edit { return e.without(e.at(TypeTimerCancelled)) }, "a wait or a timer is left open"},
		{"an update that nobody ended", func(e edit) edit {
			return e.with(e.at(TypeHookClosed), &UpdateReceived{UpdateID: "u", Name: "n", Digest: payload(1).Digest(), Payload: payload(1)})
		}, "an update is left open"},
		{"an answer to no update", func(e edit) edit { return e.with(2, &UpdateRejected{UpdateID: "u"}) }, "the update is not open"},
		{"an answer to an update that was not shown", func(e edit) edit {
			e = e.with(2, &UpdateReceived{UpdateID: "u", Name: "n", Digest: payload(1).Digest(), Payload: payload(1)})
			return e.with(3, &UpdateRejected{UpdateID: "u"})
		}, "the update was not shown"},
		{"an update orphaned by no ending", func(e edit) edit {
			e = e.with(2, &UpdateReceived{UpdateID: "u", Name: "n", Digest: payload(1).Digest(), Payload: payload(1)})
			return e.with(3, &UpdateOrphaned{UpdateID: "u", Cause: StateDisposed})
		}, "the cause is not one of an ending"},
		{"an unblocking of nothing", func(e edit) edit { return e.with(2, &RunUnblocked{}) }, "the run is not blocked"},
		{"a message that no turn of the generation took", continued(func(d *RunContinued) { d.TakenTo++ }), "messages shown"},
		{"a message taken by the way", func(e edit) edit {
			i := e.at(TypeRunContinued)
			e[i].Taken = append(slices.Clone(e[i].Taken), 1)
			return e
		}, "takes a message that is not the next one"},
		{"an unread signal forgotten", continued(func(d *RunContinued) { d.Unread = nil }), "unread signals"},
		{"a wish to cancel forgotten", continued(func(d *RunContinued) { d.CancelPending = nil }), "wish to cancel"},
		{"a wish to cancel moved", continued(func(d *RunContinued) {
			d.CancelPending = &PendingWish{Seq: d.CancelPending.Seq, At: later}
		}), "wish to cancel"},
		{"a wish to cancel shown by nobody", continued(func(d *RunContinued) { d.CancelRequested = true }), "wish to cancel"},
		{"another start", continued(func(d *RunContinued) { d.StartedAt = later }), "started at another time"},
		{"an open hook left behind", continued(func(d *RunContinued) {
			d.Hooks = slices.DeleteFunc(d.Hooks, func(c CarriedHook) bool { return c.ID == "open" })
		}), "left behind"},
		{"an answer left behind", continued(func(d *RunContinued) {
			d.Hooks = slices.DeleteFunc(d.Hooks, func(c CarriedHook) bool { return c.ID == "answered" })
		}), "left behind"},
		{"a hook carried twice", continued(func(d *RunContinued) { d.Hooks = append(d.Hooks, *hook(d, "open")) }), "carried twice"},
		{"a hook of nobody's", continued(func(d *RunContinued) { hook(d, "open").ID = "other" }), "not as it was"},
		{"a hook with another token", continued(func(d *RunContinued) { hook(d, "open").Grant.Digest[0]++ }), "not as it was"},
		{"a hook with another answer", continued(func(d *RunContinued) { hook(d, "unasked").Digest = canon.Digest{1} }), "not as it was"},
		{"a hook with a forged answer", continued(func(d *RunContinued) { hook(d, "unasked").Payload = []byte("7") }), "not as it was"},
		{"an answer that was shown, as new", continued(func(d *RunContinued) { hook(d, "unasked").Taken = false }), "not as it was"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found, n := project(tc.edit(slices.Clone(base))).Finish()
			if n != 1 || found[0].Row != RowEvent || !strings.Contains(found[0].String(), tc.says) {
				t.Errorf("%d differences, want one that says %q: %v", n, tc.says, found)
			}
		})
	}
}

// Nothing is said of rows where it is not known what the events say.
func TestProjection_of_a_broken_history_says_nothing_of_rows(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(p *Projection, events []Event){
		"no event": func(*Projection, []Event) {},
		"a gap": func(p *Projection, events []Event) {
			p.Apply(events[0])
			p.Apply(events[2])
			p.Apply(events[1])
		},
		"an event that cannot be read": func(p *Projection, events []Event) {
			p.Apply(events[0])
			p.Undecodable(2, "unknown")
			p.Undecodable(3, "unknown")
			p.Apply(events[1])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := eventfulRun(t)
			p := NewProjection(testKey)
			read(p, r.events)
			if found, n := compareRows(p, r, r.now); n != 1 || found[0].Row != RowEvent {
				t.Errorf("%d differences, want one at an event: %v", n, found)
			}
		})
	}
}

// A payload is looked at, not the digest beside it: an altered payload is seen there and in the row.
func TestProjection_recomputes_digests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		edit func(edit)
		want []string
	}{
		{
			"a signal", func(e edit) { d := find[SignalReceived](e, 0); d.Payload = replaced(d.Payload) },
			[]string{`event 10: digest`, `signal "a1": digest: differs`},
		},
		{
			"an answer", func(e edit) { d := find[HookResumed](e, 0); d.Payload = replaced(d.Payload) },
			[]string{`event 11: digest`, `run.continued: a hook that it carries is not as it was`},
		},
		{
			"the input", func(e edit) { d := find[RunStarted](e, 0); d.Input = replaced(d.Input) },
			[]string{`event 1: digest`, `input_digest: differs`},
		},
		{"a later input", func(e edit) { d := find[RunContinued](e, 0); d.Input = replaced(d.Input) }, []string{`: digest`}},
		{"the output", func(e edit) { d := find[RunCompleted](e, 0); d.Output = replaced(d.Output) }, []string{`: digest`}},
		{"a signal that is no JSON", func(e edit) {
			d := find[SignalReceived](e, 0)
			d.Payload = canon.Restore([]byte("{"), d.Digest)
		}, []string{`event 10: digest`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := eventfulRun(t)
			events := slices.Clone(r.events)
			tc.edit(events)
			wantDifferences(t, project(events), r, tc.want...)
		})
	}
}

func wantDifferences(t *testing.T, p *Projection, r *rig, want ...string) {
	t.Helper()
	found, n := compareRows(p, r, r.now)
	if n != len(want) {
		t.Fatalf("%d differences, want %d: %v", n, len(want), found)
	}
	for i, d := range found {
		if !strings.Contains(d.String(), want[i]) {
			t.Errorf("difference %q, want %q in it", d, want[i])
		}
	}
}

// A difference is a line that shows no secret, and of very many the first hundred are listed.
func TestProjection_lists_no_secret_and_not_everything(t *testing.T) {
	t.Parallel()
	r := eventfulRun(t)
	h := r.hooks["disposed"]
	h.Grant.Digest, h.Metadata, h.Actor = TokenDigest{7}, spec.HumanApproval("a secret subject"), "eve\n"
	r.hooks["disposed"] = h
	wantDifferences(t, project(r.events), r,
		`hook "disposed": labels: differs`, `hook "disposed": metadata: differs`, `hook "disposed": token_digest: differs`,
		`hook "disposed": actor: events say nothing, the row says "eve\n"`)

	r = eventfulRun(t)
	for i := range 300 {
		id := spec.SignalID(fmt.Sprint("extra-", i))
		r.signals[id] = Signal{ID: id}
	}
	found, n := compareRows(project(r.events), r, r.now)
	if n != 300 || len(found) != 100 || found[0].Text != "no event made this row" {
		t.Errorf("%d differences, %d listed, first %v", n, len(found), found[0])
	}
}

// Rows that are gone are named in order, and one that cannot be read is not gone.
func TestProjection_misses_rows(t *testing.T) {
	t.Parallel()
	r := eventfulRun(t)
	delete(r.signals, "left")
	delete(r.signals, "a1")
	delete(r.signals, "end")
	delete(r.hooks, "open")
	delete(r.hooks, "expired")
	p := project(r.events)
	p.Unreadable(RowSignal, "end", "cannot be read")
	p.Unreadable(RowHook, "expired", "cannot be read")
	wantDifferences(t, p, r, `signal "end": cannot be read`, `hook "expired": cannot be read`,
		`signal "a1": the row is missing`, `signal "left": the row is missing`, `hook "open": the row is missing`)
}
