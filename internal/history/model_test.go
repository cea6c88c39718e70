package history

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

// wild decides by a hash of what it sees, so that it asks for anything in any order and yet always decides alike.
func wild(seed uint64, absolute bool) author {
	return func(s *State) Decision {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, seed, s.Generation(), s.CancelRequested(), len(s.Peek("a")))
		for _, id := range []string{"w0", "w1", "w2", "w3", "park"} {
			status, p := s.Wait(id)
			_, _ = fmt.Fprint(h, status, string(p.Bytes()))
		}
		for _, id := range []string{"t0", "t1"} {
			_, _ = fmt.Fprint(h, s.TimerFired(id))
		}
		_, _ = fmt.Fprint(h, s.First("w0", "w1", "t0", "h0", "h1"))
		if h.Sum64()%3 > 0 {
			for _, id := range []spec.HookID{"h0", "h1", "h2"} {
				v := s.Hook(id)
				_, _ = fmt.Fprint(h, v.State, v.Rejected != nil, string(v.Payload.Bytes()))
			}
		}
		return wildDecision(s, h.Sum64(), absolute)
	}
}

func wildDecision(s *State, bits uint64, absolute bool) Decision {
	take := func(n uint64) uint64 { v := bits % n; bits /= n; return v }
	if s.CancelRequested() && take(2) == 0 {
		return decide(&AcceptCancel{})
	}
	var cs []Command
	for i, id := range []string{"w0", "w1", "w2", "w3"} {
		if take(2) == 0 {
			continue
		}
		w := wait1(id, []string{"a", "b"}[i%2])
		if i > 1 {
			w.Timeout, w.Until = wildDeadline(i, absolute)
		}
		cs = append(cs, w)
	}
	for i, id := range []string{"t0", "t1"} {
		if take(2) == 1 {
			tm := &StartTimer{ID: spec.TimerID(id)}
			tm.In, tm.At = wildDeadline(i+1, absolute)
			cs = append(cs, tm)
		}
	}
	if !absolute {
		for i, id := range []string{"h0", "h1", "h2"} {
			switch take(3) {
			case 1:
				c := hookNamed(id + fmt.Sprint(s.Generation()/2))
				if i == 0 {
					c = hookFor(string(c.ID), 3*time.Second)
				}
				cs = append(cs, c)
			case 2:
				cs = append(cs, &WithdrawHook{ID: spec.HookID(id + fmt.Sprint(s.Generation()/2))})
			}
		}
	}
	switch take(40) {
	case 0:
		return decide(append(cs, complete("done"))...)
	case 1, 2:
		return decide(append(cs, &ContinueAsNew{Input: payload(bits)})...)
	case 3:
		return decide(append(cs, &Fail{Message: "no"})...)
	}
	return decide(append(cs, wait1("park", "never"))...)
}

func wildDeadline(n int, absolute bool) (*time.Duration, *time.Time) {
	d := time.Duration(n) * 2 * time.Second
	if !absolute {
		return &d, nil
	}
	at := epoch.Add(d)
	return nil, &at
}

// ledger remembers every answer, so that a redelivery can be compared with the first one.
type ledger struct {
	r        *rig
	receipts map[string]Receipt
}

func (l *ledger) step(t *rapid.T) {
	r := l.r
	switch op := rapid.IntRange(0, 11).Draw(t, "op"); op {
	case 0, 1, 2, 3:
		id := fmt.Sprint("s", rapid.IntRange(0, 30).Draw(t, "id"))
		name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
		receipt, err := r.signal(id, name, rapid.IntRange(0, 1).Draw(t, "v"))
		l.check(t, "signal "+id, receipt, err)
	case 4, 5:
		id := fmt.Sprintf("h%d%d", rapid.IntRange(0, 2).Draw(t, "hook"), r.run.Generation/2)
		receipt, err := r.resume(id, rapid.IntRange(0, 1).Draw(t, "v"))
		l.check(t, "resume "+id, receipt, err)
	case 6:
		id := fmt.Sprintf("h%d%d", rapid.IntRange(0, 2).Draw(t, "hook"), r.run.Generation/2)
		receipt, err := r.dispose(id)
		l.check(t, "dispose "+id, receipt, err)
	case 7:
		r.pass(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
	case 8:
		if rapid.IntRange(0, 5).Draw(t, "rare") == 0 {
			receipt, err := r.accept(&CancelRun{Run: testKey, Terminate: rapid.Bool().Draw(t, "terminate")})
			l.check(t, "cancel", receipt, err)
		}
	case 9:
		r.turnCut(rapid.IntRange(0, 2).Draw(t, "calls"))
	default:
		r.settle()
	}
}

func (l *ledger) check(t *rapid.T, identity string, receipt Receipt, err error) {
	if err != nil {
		return
	}
	first, known := l.receipts[identity]
	switch {
	case !known && receipt.Verdict == Accepted:
		l.receipts[identity] = receipt
	case !known:
		if identity != "cancel" && !strings.HasPrefix(identity, "dispose") { // workflow code may have done it
			t.Fatalf("%s: duplicate of nothing", identity)
		}
	case receipt.Verdict != Duplicate && identity != "cancel": // a request may be followed by a termination
		t.Fatalf("%s: accepted twice", identity)
	case identity != "cancel":
		first.Verdict = Duplicate
		if diff := cmp.Diff(first, receipt); diff != "" {
			t.Fatalf("%s: another receipt (-first +again):\n%s", identity, diff)
		}
	}
}

func TestModel_random_traces_keep_every_law(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, wild(rapid.Uint64().Draw(t, "seed"), false))
		r.auth.cooperative = rapid.Bool().Draw(t, "cooperative")
		r.lim.TurnEvents = rapid.IntRange(3, 40).Draw(t, "turn events")
		l := &ledger{r: r, receipts: map[string]Receipt{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l.step(t)
			rowsEqualFold(t, r)
		}
		r.settle()
		nothingIsForgotten(t, r)
		consumptionIsFIFO(t, r)
		waitsEndOnce(t, r)
		nothingAfterTheEnd(t, r)
	})
}

// rowsEqualFold compares the records beside the events with the fold of the events.
func rowsEqualFold(t *rapid.T, r *rig) {
	s := r.cold()
	if s.status != r.run.Status || s.generation != r.run.Generation || s.firstSeq != r.run.FirstSeq || s.nextSeq != r.run.NextSeq {
		t.Fatalf("row %+v, fold %s %d %d %d", r.run, s.status, s.generation, s.firstSeq, s.nextSeq)
	}
	unread := 0
	for _, sig := range r.signals {
		if sig.ConsumedBy == nil {
			unread++
		}
	}
	if r.run.Backlog != unread || s.unread != unread {
		t.Fatalf("backlog %d, fold %d, rows %d", r.run.Backlog, s.unread, unread)
	}
	for _, h := range s.HookRecords() {
		if row := r.hooks[h.ID]; !reflect.DeepEqual(row, h) {
			t.Fatalf("hook rows differ:\n%s", cmp.Diff(row, h))
		}
	}
}

// nothingIsForgotten: a run that sleeps has nothing to do, and its alarm is set for what comes next.
func nothingIsForgotten(t *rapid.T, r *rig) {
	if r.run.Status != Running {
		return
	}
	s := r.cold()
	if _, due := s.earliestDue(r.now); due || len(s.pending) > 0 {
		t.Fatalf("asleep with work to do: %d pending, due %v", len(s.pending), due)
	}
	if stamp(r.run.WakeAt) != stamp(s.nextDue()) {
		t.Fatalf("alarm %s, next due %s", stamp(r.run.WakeAt), stamp(s.nextDue()))
	}
	for id, sig := range r.signals {
		if _, inHistory := signalEvent(r, sig.Seq, id); !inHistory {
			t.Fatalf("signal %s has a receipt and no event", id)
		}
	}
}

func signalEvent(r *rig, seq int64, id spec.SignalID) (*SignalReceived, bool) {
	d, ok := r.events[seq-1].Data.(*SignalReceived)
	return d, ok && d.SignalID == id
}

func consumptionIsFIFO(t *rapid.T, r *rig) {
	last := map[string]int64{}
	consumed := map[string][]int64{}
	for _, e := range r.events {
		if d, ok := e.Data.(*WaitCompleted); ok {
			sig, ok := signalEvent(r, d.SignalSeq, d.SignalID)
			if !ok || d.SignalSeq <= last[sig.Name] {
				t.Fatalf("wait %s consumed signal %s out of order", d.WaitID, d.SignalID)
			}
			last[sig.Name] = d.SignalSeq
			consumed[sig.Name] = append(consumed[sig.Name], d.SignalSeq)
		}
	}
	for id, sig := range r.signals { // per name, what was consumed is a prefix of what was accepted
		if sig.Seq < last[sig.Name] && !slices.Contains(consumed[sig.Name], sig.Seq) {
			t.Fatalf("signal %s was passed over", id)
		}
	}
}

func waitsEndOnce(t *rapid.T, r *rig) {
	open := map[string]bool{}
	for _, e := range r.events {
		switch d := e.Data.(type) {
		case *WaitOpened:
			open[string(d.WaitID)] = true
		case *WaitCompleted, *WaitTimedOut, *WaitWithdrawn:
			id := string(reflect.ValueOf(d).Elem().FieldByName("WaitID").String())
			if !open[id] {
				t.Fatalf("wait %s ended while not open", id)
			}
			delete(open, id)
		case *RunContinued, *RunCompleted, *RunFailed:
			if len(open) > 0 {
				t.Fatalf("%v left open by %s", open, e.Data.Type())
			}
		}
	}
}

func nothingAfterTheEnd(t *rapid.T, r *rig) {
	if !r.run.Status.Ended() {
		return
	}
	n := len(r.events)
	_, _ = r.signal("after", "a", 1)
	_, _ = r.accept(&CancelRun{Run: testKey})
	for id := range r.hooks {
		_, _ = r.resume(string(id), 1)
		_, _ = r.dispose(string(id))
		if r.hooks[id].State == StateActive {
			t.Fatalf("hook %s outlived its run", id)
		}
	}
	if len(r.events) != n {
		t.Fatalf("%s after the end", r.story()[n])
	}
	for i, e := range r.events[:n-1] {
		if e.Data.Type() == TypeRunCompleted || e.Data.Type() == TypeRunFailed || e.Data.Type() == TypeRunCancelled {
			t.Fatalf("the run ended at event %d of %d", i+1, n)
		}
	}
}

// A run whose turns come late has the history of one whose turns come at once: the same facts, taken in the same order.
func TestModel_the_result_does_not_depend_on_when_turns_run(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		fast, slow := newRig(t, wild(seed, true)), newRig(t, wild(seed, true))
		fast.settle()
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			d := time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
			late := rapid.IntRange(0, 3).Draw(t, "late") > 0
			for _, r := range []*rig{fast, slow} {
				r.pass(d)
				if r == fast {
					r.settle() // what was due before the message
				}
				_, _ = r.signal(fmt.Sprint("s", i), name, i)
			}
			fast.settle()
			if !late {
				slow.settle()
			}
		}
		fast.settle()
		slow.settle()
		if diff := cmp.Diff(taken(fast), taken(slow)); diff != "" {
			t.Fatalf("fast against slow:\n%s\nfast %v\nslow %v", diff, fast.story(), slow.story())
		}
	})
}

// taken is what happened to the run, without the acceptance of messages.
func taken(r *rig) []string {
	var lines []string
	for _, line := range r.story() {
		if line != "facts.taken" && line[:6] != "signal" {
			lines = append(lines, line)
		}
	}
	return lines
}
