package db

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func TestFiftyEqualSignals(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	var answers []<-chan Answer
	for range 50 {
		answers = append(answers, r.send(r.signal("a", "s1", "1")))
	}
	accepted := 0
	for _, answer := range answers {
		a := r.await(answer)
		if a.Err != nil || a.Receipt.Sequence != 2 {
			t.Errorf("%+v", a)
		}
		if a.Receipt.Verdict == history.Accepted {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d accepted, want 1", accepted)
	}
	r.consistent()
}

// Twenty-five callers say A and twenty-five say B under one identity, of a signal and of a run: one side wins whole.
func TestTwoPayloadsUnderOneIdentity(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"signal", "start"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := running(t, func(c *Config) { c.Batch = 7; c.Lanes = 2 })
			message := func(text string) history.Message {
				if kind == "signal" {
					return r.signal("a", "s1", text)
				}
				m := r.startOf("a")
				m.Input = payload(t, text)
				return m
			}
			if kind == "signal" {
				r.ok(r.startOf("a"))
			}
			answers := map[string][]<-chan Answer{}
			for range 25 {
				for _, text := range []string{`"A"`, `"B"`} {
					answers[text] = append(answers[text], r.send(message(text)))
				}
			}
			won := map[string]int{}
			accepted := 0
			for text, list := range answers {
				for _, answer := range list {
					a := r.await(answer)
					_, signalDiffers := errors.AsType[*history.SignalConflictError](a.Err)
					_, runDiffers := errors.AsType[*history.RunConflictError](a.Err)
					switch {
					case a.Err == nil:
						won[text]++
					case !signalDiffers && !runDiffers:
						t.Errorf("%s: %v", text, a.Err)
					}
					if a.Receipt.Verdict == history.Accepted {
						accepted++
					}
				}
			}
			if accepted != 1 || len(won) != 1 || won[`"A"`]+won[`"B"`] != 25 {
				t.Errorf("%d accepted, winners %v", accepted, won)
			}
			r.consistent()
		})
	}
}

func TestStartAndSignalInOneBatch(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	early, conflict := r.signal("a", "s0", "0"), r.startOf("a")
	conflict.Workflow = "other"
	answers := r.line(early, r.startOf("a"), r.signal("a", "s1", "1"), r.startOf("a"), conflict, r.signal("a", "s1", "1"),
		&history.CancelRun{Run: keyOf("a")}, r.signal("a", "s2", "2"))
	r.start(r.Store)
	type said struct {
		Verdict history.Verdict
		Seq     int64
		Err     string
	}
	var got []said
	for _, answer := range answers {
		a := r.await(answer)
		got = append(got, said{a.Receipt.Verdict, a.Receipt.Sequence, fmt.Sprint(a.Err)})
	}
	want := []said{
		{"", 0, "run not found"},
		{"accepted", 1, "<nil>"},
		{"accepted", 2, "<nil>"},
		{"duplicate", 1, "<nil>"},
		{"", 0, "run exists with another workflow"},
		{"duplicate", 2, "<nil>"},
		{"accepted", 3, "<nil>"},
		{"", 0, "run ended"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := value[int](r, `select count(distinct xmin::text) from events`); n != 1 {
		t.Errorf("the batch took %d transactions, want 1", n)
	}
	r.consistent()
}

// What waits is committed together: a thousand calls take a few transactions, not a thousand.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	var ms []history.Message
	for i := range 200 {
		ms = append(ms, r.startOf(fmt.Sprintf("run-%03d", 199-i)), r.signal(fmt.Sprintf("run-%03d", 199-i), "s", "1"))
	}
	answers := r.line(ms...)
	r.start(r.Store)
	for _, answer := range answers {
		if a := r.await(answer); a.Err != nil || a.Receipt.Verdict != history.Accepted {
			t.Fatalf("%+v", a)
		}
	}
	if n := value[int](r, `select count(distinct xmin::text) from events`); n != 2 {
		t.Errorf("400 calls took %d transactions, want 2", n)
	}
	r.consistent()
}

func TestPayloadsBoundABatch(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	big := make([]byte, 250<<10)
	for i := range big {
		big[i] = '1' + byte(i%9)
	}
	text := `"` + string(big) + `"`
	ms := []history.Message{r.startOf("a")}
	for i := range 80 {
		ms = append(ms, r.signal("a", fmt.Sprint(i), text))
	}
	answers := r.line(ms...)
	r.start(r.Store)
	for _, answer := range answers {
		if a := r.await(answer); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if n := value[int](r, `select count(distinct xmin::text) from events`); n != 3 {
		t.Errorf("20 MB took %d transactions of 8 MiB, want 3", n)
	}
}

// A batch must answer as the same messages do one by one.
func TestBatchesJudgeLikeSingles(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.start(r.Store)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		tag := fmt.Sprintf("%d-", n)
		script := rapid.SliceOfN(rapid.Custom(drawMessage), 1, 30).Draw(rt, "messages")
		var single, batch []string
		calls := make([]*call, 0, len(script))
		for _, build := range script {
			receipt, err := r.Accept(t.Context(), build(r, tag+"single-"))
			single = append(single, fmt.Sprint(receipt.Verdict, receipt.Sequence, err))
			m := build(r, tag+"batch-")
			calls = append(calls, &call{ctx: t.Context(), message: m, run: m.Target(), done: make(chan Answer, 1)})
		}
		r.settle(calls, rapid.SampledFrom([]lockMode{skipLocked, waitForLock}).Draw(rt, "mode"))
		for _, c := range calls {
			a := <-c.done
			batch = append(batch, fmt.Sprint(a.Receipt.Verdict, a.Receipt.Sequence, a.Err))
		}
		if diff := cmp.Diff(single, batch); diff != "" {
			rt.Fatalf("single and batch differ: %s", diff)
		}
	})
	r.consistent()
	same := value[int](r, `with e as (select r.run_id, e.seq, e.type, e.data::jsonb - 'at' as data, e.payload from runs r join events e on e.run = r.id)
		select count(*) from (select replace(run_id, 'single-', ''), seq, type, data, payload from e where run_id like '%single-%'
			except select replace(run_id, 'batch-', ''), seq, type, data, payload from e where run_id like '%batch-%') x`)
	if same != 0 {
		t.Errorf("%d events differ between single and batch", same)
	}
}

// drawMessage draws a message to one of two runs, under one of a few identities.
func drawMessage(t *rapid.T) func(r *acceptRig, prefix string) history.Message {
	run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
	id := rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "id")
	text := rapid.SampledFrom([]string{"1", "2", "false"}).Draw(t, "payload")
	kind := rapid.IntRange(0, 19).Draw(t, "kind")
	return func(r *acceptRig, prefix string) history.Message {
		key := prefix + run
		switch {
		case kind < 6:
			m := r.startOf(key)
			m.Input = payload(r.t, text)
			return m
		case kind < 15:
			return r.signal(key, id, text)
		case kind == 15:
			return &history.CancelRun{Run: keyOf(key)}
		case kind == 16:
			return &history.RetryRun{Run: keyOf(key)}
		case kind == 17:
			return &history.DisposeHook{Run: keyOf(key), HookID: spec.HookID(id)}
		}
		return r.resume(key, id, text)
	}
}

// Several stores, several lanes, few runs: every message is stored once and every receipt is true.
func TestTwoStoresShareADatabase(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, func(c *Config) { c.Lanes = 2; c.Batch = 16 })
	other := r.open(r.pool, func(c *Config) { c.Batch = 16 })
	r.start(r.Store)
	r.start(other)
	var ms []history.Message
	for i := range 8 {
		run := fmt.Sprint("run-", i)
		ms = append(ms, r.startOf(run))
		ms = append(ms, r.messagesTo(run, 20)...)
	}
	for _, m := range ms {
		if _, ok := m.(*history.StartRun); ok {
			r.ok(m)
		}
	}
	type sent struct {
		m      history.Message
		answer <-chan Answer
	}
	var all []sent
	for _, m := range append(ms, ms...) {
		for _, s := range []*Store{r.Store, other} {
			all = append(all, sent{m, persist(s, t.Context(), m)})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	first := map[string]Answer{}
	accepted := 0
	for _, s := range all {
		a := r.await(s.answer)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		if a.Receipt.Verdict == history.Accepted {
			accepted++
		}
		name := fmt.Sprintf("%v %v", a.Receipt.Run, a.Receipt.SignalID)
		if known, ok := first[name]; ok && (known.Receipt.Sequence != a.Receipt.Sequence || !known.Receipt.ReceivedAt.Equal(a.Receipt.ReceivedAt)) {
			t.Errorf("%s: two receipts", name)
		}
		first[name] = a
	}
	if accepted != 8*20 {
		t.Errorf("%d accepted, want %d", accepted, 8*20)
	}
	r.consistent()
}
