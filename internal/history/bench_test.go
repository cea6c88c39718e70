package history

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// crowd first opens hooks that expire and lets timers fire one by one; then it consumes items, a wait for each.
func crowd(hooks, timers int) author {
	var open []Command
	for i := range hooks {
		open = append(open, hookFor(fmt.Sprint("hook-", i), time.Hour))
	}
	fired, n := 0, 0
	return func(s *State) Decision {
		if hooks > 0 && !s.KnowsHook("hook-0") {
			return decide(append(open, wait1("item-0", "item"))...)
		}
		if fired < timers && s.TimerFired(fmt.Sprint("timer-", fired)) {
			fired++
		}
		if fired < timers {
			return decide(timerIn(fmt.Sprint("timer-", fired), 0))
		}
		for {
			if _, ok := got(s, fmt.Sprint("item-", n)); !ok {
				return decide(wait1(fmt.Sprint("item-", n), "item"))
			}
			n++
		}
	}
}

// BenchmarkTurn is a turn of 1,000 events in a run that holds much else: its cost must not depend on the rest.
func BenchmarkTurn(b *testing.B) {
	for _, size := range []struct{ hooks, timers, signals int }{
		{0, 0, 0}, {1000, 0, 0}, {0, 10_000, 0}, {0, 0, 10_000}, {1000, 10_000, 10_000},
	} {
		b.Run(fmt.Sprintf("hooks=%d/timers=%d/signals=%d", size.hooks, size.timers, size.signals), func(b *testing.B) {
			r := newRig(b, nil)
			r.author = crowd(size.hooks, size.timers)
			r.lim.Backlog, r.lim.TurnEvents = 20_000, 100_000
			for i := range size.signals {
				benchSignal(b, r, fmt.Sprint("other-", i), "other")
			}
			r.settle()
			r.lim.TurnEvents = 1000
			for i := range 1000 {
				benchSignal(b, r, fmt.Sprint("item-", i), "item")
			}
			events := 0
			for b.Loop() {
				b.StopTimer()
				s := r.cold()
				b.StartTimer()
				t, err := NewTurn(s, r.run, r.now, r.lim, nil)
				if err != nil {
					b.Fatal(err)
				}
				for n := 1; t.Next(); n++ {
					t.Decide(decide(wait1(fmt.Sprint("item-", n), "item")))
				}
				events = len(t.Finish().Events)
			}
			b.ReportMetric(float64(events), "events")
		})
	}
}

// BenchmarkTurn_closes_hooks is a turn that opens, expires or closes 1,000 hooks.
func BenchmarkTurn_closes_hooks(b *testing.B) {
	var open []Command
	for i := range 1000 {
		open = append(open, hookFor(fmt.Sprint("hook-", i), 0))
	}
	for name, d := range map[string]Decision{
		"ending":   decide(slices.Concat(open, []Command{complete(1)})...),
		"expiring": decide(slices.Concat(open, []Command{wait1("w", "w")})...),
	} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, nil)
			r.lim.TurnEvents = 10_000
			for b.Loop() {
				t, err := NewTurn(r.cold(), r.run, r.now, r.lim, nil)
				if err != nil {
					b.Fatal(err)
				}
				for n := 0; t.Next(); n++ {
					if n == 0 {
						t.Decide(d)
					} else {
						t.Decide(decide(wait1("w", "w")))
					}
				}
				if out := t.Finish(); len(out.Events) < 2000 {
					b.Fatal(len(out.Events))
				}
			}
		})
	}
}

// benchSignal accepts a signal without the rig's copies of all records.
func benchSignal(b *testing.B, r *rig, id, name string) {
	b.Helper()
	rec := &Records{Run: r.run, Known: true, Signals: map[spec.SignalID]Signal{}}
	if _, err := rec.Accept(&SendSignal{Run: testKey, ID: spec.SignalID(id), Name: name, Payload: payload(1)}, r.auth, r.lim, r.now); err != nil {
		b.Fatal(err)
	}
	r.commit(rec)
}
