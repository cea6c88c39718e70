package history

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// approver is the commonest workflow: it waits for one signal and completes.
func approver(s *State) Decision {
	if v, ok := got(s, "approval"); ok {
		return decide(&Complete{Output: v})
	}
	return decide(wait1("approval", "invoice.approved"))
}

// chain is a run that has consumed so many signals one after the other, each by a wait of its own.
func chain(b *testing.B, signals int) *rig {
	b.Helper()
	r := newRig(b, func(*State) Decision { panic("not called") })
	n := 0
	r.author = func(s *State) Decision {
		if _, ok := got(s, fmt.Sprint("item-", n)); ok {
			n++
		}
		return decide(wait1(fmt.Sprint("item-", n), "item"))
	}
	r.lim.TurnEvents = 100_000
	r.settle()
	for i := range signals {
		benchSignal(b, r, fmt.Sprint("signal-", i), "item")
	}
	r.settle()
	return r
}

// BenchmarkFold is a cold start: the fold of a whole generation, its events decoded already.
func BenchmarkFold(b *testing.B) {
	for _, events := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprint("events=", events), func(b *testing.B) {
			carried, all := chain(b, events/3).generation()
			all = all[:min(len(all), events)]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Fold(testKey, carried, all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApply adds one event to a warm state: each round is a signal accepted, which the next one finds unread.
func BenchmarkApply(b *testing.B) {
	r := newRig(b, approver)
	r.settle()
	s := r.cold()
	e := Event{Generation: 1, At: r.now, Data: &SignalReceived{SignalID: "s", Name: "other", Payload: payload(1)}}
	b.ReportAllocs()
	for b.Loop() {
		if e.Seq = s.nextSeq; e.Seq%1000 == 0 {
			s = r.cold()
			e.Seq = s.nextSeq
		}
		if err := s.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstTurn folds the start of a run and parks it on one signal.
func BenchmarkFirstTurn(b *testing.B) {
	r := newRig(b, nil)
	d := decide(wait1("approval", "invoice.approved"))
	b.ReportAllocs()
	for b.Loop() {
		t, err := NewTurn(r.cold(), r.run, r.now, r.lim, nil)
		if err != nil {
			b.Fatal(err)
		}
		for t.Next() {
			t.Decide(d)
		}
		if out := t.Finish(); len(out.Events) != 1 {
			b.Fatal(out.Events)
		}
	}
}

// BenchmarkSignalTurn is the hot path: a parked run whose signal came, from the warm state to what is to be written.
func BenchmarkSignalTurn(b *testing.B) {
	for name, next := range map[string]Decision{
		"completes":      decide(complete("done")),
		"waits for more": decide(wait1("approval-2", "invoice.approved")),
	} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, approver)
			r.settle()
			_, parked := r.generation()
			benchSignal(b, r, "s", "invoice.approved")
			_, all := r.generation()
			states := make([]*State, 500) // at once: to stop the clock for each would cost more than the turn
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				if n%len(states) == 0 {
					b.StopTimer()
					for i := range states {
						states[i], _ = Fold(testKey, nil, parked)
					}
					b.StartTimer()
				}
				s := states[n%len(states)]
				if err := s.Apply(all[len(all)-1]); err != nil {
					b.Fatal(err)
				}
				t, err := NewTurn(s, r.run, r.now, r.lim, nil)
				if err != nil {
					b.Fatal(err)
				}
				for t.Next() {
					t.Decide(next)
				}
				if out := t.Finish(); len(out.Consumed) != 1 || out.Blocked {
					b.Fatal(out)
				}
			}
		})
	}
}

// BenchmarkAcceptSignal judges one signal for a parked run.
func BenchmarkAcceptSignal(b *testing.B) {
	r := newRig(b, approver)
	r.settle()
	m := &SendSignal{Run: testKey, ID: "s", Name: "invoice.approved", Payload: payload(1), Source: "api", Actor: "ada"}
	known := map[spec.SignalID]Signal{}
	b.ReportAllocs()
	for b.Loop() {
		clear(known)
		rec := Records{Run: r.run, Known: true, Signals: known}
		if _, err := rec.Accept(m, r.auth, r.lim, r.now); err != nil {
			b.Fatal(err)
		}
	}
}

// hotEvents are the kinds that a run of one signal or one hook writes, filled as a deployment fills them.
func hotEvents() []Event {
	at := epoch.Add(123456 * time.Microsecond)
	in := payload(map[string]any{"invoice": "INV-2026-0042", "amount": "12.50"})
	datas := []Data{
		&RunStarted{
			Workflow: "billing.invoice-approval", Version: "1", SpecDigest: canon.Digest{1, 2, 3}, Actor: "key:billing",
			Digest: in.Digest(), Input: in,
		},
		&WaitOpened{WaitID: "approval", Signal: "invoice.approved", Deadline: &at},
		&SignalReceived{
			SignalID: "8c1ff0be-9c24-41ee-a4f1-2f3f4f8f1f31", Name: "invoice.approved", Source: "api", Actor: "key:billing",
			Digest: in.Digest(), Payload: in,
		},
		&WaitCompleted{WaitID: "approval", SignalID: "8c1ff0be-9c24-41ee-a4f1-2f3f4f8f1f31", SignalSeq: 3},
		&RunCompleted{Digest: in.Digest(), Output: in},
		&HookCreated{
			HookID: "approval", Name: "approval", Metadata: spec.HumanApproval("Invoice 42").WithLabel("team", "finance"), ExpiresAt: &at,
			Grant: TokenGrant{Digest: TokenDigest{1, 2, 3}, DigestKey: "d1", MintKey: "m1", Nonce: []byte("0123456789abcdef")},
		},
		&HookResumed{HookID: "approval", Source: "token", Digest: in.Digest(), Payload: in},
	}
	events := make([]Event, len(datas))
	for i, d := range datas {
		events[i] = Event{Generation: 1, Seq: int64(i + 1), At: at, Data: d}
	}
	events[3].Taken = []int64{3}
	return events
}

// BenchmarkEncode makes the stored form of each hot kind.
func BenchmarkEncode(b *testing.B) {
	for _, e := range hotEvents() {
		b.Run(string(e.Data.Type()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode reads the stored form of each hot kind.
func BenchmarkDecode(b *testing.B) {
	for _, e := range hotEvents() {
		enc, err := Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(enc.Type, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(1, e.Seq, e.At, enc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParkedState reports the memory that a cache of states needs for each run parked on one signal: folded from
// stored events, and as the first turn left it.
func BenchmarkParkedState(b *testing.B) {
	r := newRig(b, approver)
	r.settle()
	_, events := r.generation()
	encoded := make([]Encoded, len(events))
	for i, e := range events {
		encoded[i], _ = Encode(e)
	}
	decoded := func(n int) []Event {
		all := make([]Event, n)
		for i := range all {
			enc := encoded[i]
			enc.Payload = append([]byte(nil), enc.Payload...)
			all[i], _ = Decode(1, int64(i+1), events[i].At, enc)
		}
		return all
	}
	for name, parked := range map[string]func() *State{
		"cold": func() *State {
			s, _ := Fold(testKey, nil, decoded(len(events)))
			return s
		},
		"warm": func() *State {
			s, _ := Fold(testKey, nil, decoded(1))
			run := r.run
			run.NextSeq = s.nextSeq
			t, _ := NewTurn(s, run, r.now, r.lim, nil)
			for t.Next() {
				t.Decide(approver(s))
			}
			t.Finish()
			return s
		},
	} {
		b.Run(name, func(b *testing.B) {
			const runs = 10_000
			states := make([]*State, runs)
			for b.Loop() {
				clear(states)
				before := heap()
				for i := range states {
					states[i] = parked()
				}
				b.ReportMetric(float64(heap()-before)/runs, "B/state")
			}
			runtime.KeepAlive(states)
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
