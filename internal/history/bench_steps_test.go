package history

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// march is the history of a run that does one step after the other, and its record as of each event.
type march struct {
	events []Event
	runs   []Run // runs[n] is the record when n events are stored
}

func stepAt(n int) Decision {
	return decide(&ScheduleStep{ID: spec.StepID(fmt.Sprint("step-", n)), Name: "echo", Input: payload(n), Retry: spec.NoRetry()})
}

// marchFor makes a history of at least so many events.
func marchFor(b testing.TB, events int) march {
	b.Helper()
	r := newRig(b, nil)
	m := march{events: r.events, runs: []Run{{}, r.run}}
	s, run := r.cold(), r.run
	for n := 0; len(m.events) < events; n++ {
		t, err := NewTurn(s, run, r.now, r.lim, nil)
		if err != nil {
			b.Fatal(err)
		}
		for t.Next() {
			t.Decide(stepAt(n))
		}
		out := t.Finish()
		if len(out.Events) != 1 || len(out.NewTasks) != 1 || out.Blocked {
			b.Fatal(out.Events)
		}
		begun := out.NewTasks[0]
		begun.Attempt = 1
		rec := Records{Run: out.Run, Known: true, Tasks: map[TaskKey]Task{begun.TaskKey: begun}}
		if _, err := rec.Accept(settled(begun, payload(n)), r.auth, r.lim, r.now); err != nil {
			b.Fatal(err)
		}
		if err := s.Apply(rec.Events[0]); err != nil {
			b.Fatal(err)
		}
		run = rec.Run
		m.events = append(m.events, out.Events[0], rec.Events[0])
		m.runs = append(m.runs, out.Run, run)
	}
	return m
}

func settled(t Task, output canon.Payload) *SettleTask {
	return &SettleTask{Run: testKey, Task: t.TaskKey, Attempt: t.Attempt, Output: output}
}

// turn takes the outcome of the last step and asks for the next. The state is that of n events, the last of which is the
// outcome.
func (m march) turn(b testing.TB, s *State, n int, next Decision) {
	t, err := NewTurn(s, m.runs[n], epoch, DefaultLimits(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for t.Next() {
		t.Decide(next)
	}
	if out := t.Finish(); len(out.Events) != 1 || out.Blocked {
		b.Fatal(out.Events)
	}
}

// BenchmarkStepTurn is the outcome of a step applied to a state, and the turn that takes it and asks for the next step,
// without the time of workflow code. Warm is with the state in memory: for histories of steps of that many events up to a
// twentieth more. Cold folds the history first, its events decoded already.
func BenchmarkStepTurn(b *testing.B) {
	for _, events := range []int{10, 100, 1000, 10_000} {
		m := marchFor(b, events+events/20+3)
		var next []Decision // made before, for they are workflow code
		for n := range len(m.events) / 2 {
			next = append(next, stepAt(n+1))
		}
		from := events/2*2 + 1 // the last event is the outcome of a step
		b.Run(fmt.Sprint("warm/events=", events), func(b *testing.B) { m.warm(b, from, max(events/40, 1), next) })
		b.Run(fmt.Sprint("cold/events=", events), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := Fold(testKey, nil, m.events[:from])
				if err != nil {
					b.Fatal(err)
				}
				m.turn(b, s, from, next[from/2-1])
			}
		})
	}
}

// warm goes so many turns on from states of the same history: many states at once, for to stop the clock for each turn
// would cost more than the turn.
func (m march) warm(b *testing.B, from, turns int, next []Decision) {
	states := make([]*State, max(250/turns, 1))
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		b.StopTimer()
		for i := range states {
			s, err := Fold(testKey, nil, m.events[:from-1])
			if err != nil {
				b.Fatal(err)
			}
			states[i] = s
		}
		b.StartTimer()
		for _, s := range states {
			for n := from; n < from+2*turns && done < b.N; n += 2 {
				if err := s.Apply(m.events[n-1]); err != nil {
					b.Fatal(err)
				}
				m.turn(b, s, n, next[n/2-1])
				done++
			}
		}
	}
}

// TestALongHistoryMakesNoTurnDearer looks at the memory that is allocated, which is exact where time is not: a warm turn
// allocates the same whatever came before, and a fold so much for each event.
func TestALongHistoryMakesNoTurnDearer(t *testing.T) {
	const times, short, long = 20, 101, 2001
	m := marchFor(t, long)
	fold := func(events int) *State {
		s, err := Fold(testKey, nil, m.events[:events])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	warm := func(events int) float64 {
		states := make([]*State, times)
		for i := range states {
			states[i] = fold(events)
		}
		next := stepAt(events / 2)
		return allocated(func() {
			for _, s := range states {
				m.turn(t, s, events, next)
			}
		}) / times
	}
	if few, many := warm(short), warm(long); many > 1.5*few {
		t.Errorf("a warm turn allocates %v bytes after %d events, %v after %d", few, short, many, long)
	}
	cold := func(events int) float64 { return allocated(func() { fold(events) }) / float64(events) }
	if few, many := cold(short), cold(long); many > 1.5*few {
		t.Errorf("a fold allocates %v bytes for each of %d events, %v for each of %d", few, short, many, long)
	}
}

// allocated is how many bytes are allocated while nothing but work is done.
func allocated(work func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
