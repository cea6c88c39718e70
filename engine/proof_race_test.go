package engine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	raceCallers = 6
	raceCalls   = 20 // of one caller
)

// TestProof_nothing_acknowledged_is_lost_or_doubled lets many callers send messages to a few runs by way of several
// engines, while engines end and begin, connections to the database break, code breaks, and time goes by. What every caller
// was told is then compared with the histories: see proof.Check and proof.Laws.
func TestProof_nothing_acknowledged_is_lost_or_doubled(t *testing.T) {
	t.Parallel()
	rounds, _ := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	seed, _ := strconv.ParseUint(flag.Lookup("rapid.seed").Value.String(), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for name, cuts := range map[string]bool{"engines restart": false, "connections break": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, engine.Config{
				Limits: engine.Limits{Backlog: 20, OpenUpdates: 10, TurnEvents: 5}, PollInterval: 100 * time.Millisecond,
				StepLease: time.Second,
			}, free)
			for n := range max(1, rounds/5) {
				seed := seed + uint64(n)
				if w.race(rand.New(rand.NewPCG(seed, 0)), cuts); t.Failed() {
					t.Fatalf("to draw the same again: -rapid.seed=%d", seed)
				}
			}
		})
	}
}

// chance chooses by a source of chance of one goroutine's own.
func chance(r *rand.Rand) proof.Choose { return func(_ string, n int) int { return r.IntN(n) } }

// race is one round.
func (w *world) race(r *rand.Rand, cuts bool) {
	trace := w.newTrace()
	w.release()
	shape := proof.Shape{Engines: engineCount, Signals: 20}
	rec := &proof.Recorder{}
	var callers sync.WaitGroup
	done := make(chan struct{})
	starts := []proof.Operation{shape.DrawFirst(chance(r)), shape.DrawFirst(chance(r))} // by all callers
	starts[1].Run = "r1"
	for range raceCallers {
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		callers.Go(func() {
			for _, o := range proof.Resolve(slices.Concat(starts, drawCalls(shape, own))) {
				if o.Message() {
					w.deliver(trace, o, rec)
				} else {
					w.do(trace, o)
				}
			}
		})
	}
	go func() {
		callers.Wait()
		close(done)
	}()
	w.disturb(r, cuts, done)
	w.settleRace(trace, rec)
	w.judge(trace, rec, cuts)
}

// drawCalls draws what one caller does. What ends runs, or changes nothing, is rare, so that runs see something.
func drawCalls(shape proof.Shape, r *rand.Rand) (drawn []proof.Operation) {
	for len(drawn) < raceCalls {
		o := shape.Draw(chance(r))
		rare := o.Verb == proof.Start || o.Verb == proof.Cancel || o.Verb == proof.End || o.Verb == proof.Break || !o.WellFormed()
		if !o.Global() && (!rare || r.IntN(8) == 0) {
			drawn = append(drawn, o)
		}
	}
	return drawn
}

// deliver sends a message until it is answered. Every attempt is on record.
func (w *world) deliver(trace string, o proof.Operation, rec *proof.Recorder) {
	ctx, cancel := w.ctx()
	defer cancel()
	for !w.t.Failed() {
		a := rec.Record(o, func(o proof.Operation) proof.Answer { return w.call(ctx, trace, o) })
		switch {
		case a.Verdict != engine.VerdictBusy || a.Words == engine.ErrBacklogFull.Error():
			return
		case ctx.Err() != nil:
			w.t.Errorf("never answered: %s: %s", o, a)
		}
		o.Via = (o.Via + 1) % engineCount
	}
}

// disturb makes trouble until done is closed.
func (w *world) disturb(r *rand.Rand, cuts bool, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(r.IntN(4000)) * time.Microsecond):
		}
		switch n := r.IntN(8); {
		case n == 0:
			w.replace(r.IntN(engineCount))
		case n == 1 && cuts:
			w.cut()
		default:
			w.pass(time.Duration(r.IntN(300_000)) * time.Microsecond)
		}
	}
}

// cut breaks a connection of the engines, one that is busy if there is one.
func (w *world) cut() {
	w.exec(`select pg_terminate_backend(pid) from (
		select pid from pg_stat_activity where application_name = $1 and datname = current_database()
		order by state = 'active' desc, random() limit 1) as one`, enginesName)
}

// settleRace mends all code, lets the runs get quiet, and has every message sent once more.
func (w *world) settleRace(trace string, rec *proof.Recorder) {
	calls := rec.Calls()
	for _, c := range calls {
		w.breakCode(c.Key(trace), "")
	}
	for _, space := range []int{0, 1} {
		for _, run := range []spec.RunID{"r0", "r1"} {
			w.deliver(trace, proof.Operation{Verb: proof.Retry, Space: space, Run: run}, rec)
		}
	}
	w.finish(trace)
	var callers sync.WaitGroup
	for part := range slices.Chunk(calls, 1+len(calls)/raceCallers) {
		callers.Go(func() {
			for _, c := range part {
				if c.Verb != proof.Cancel && c.Verb != proof.End {
					w.deliver(trace, c.Operation, rec)
				}
			}
		})
	}
	callers.Wait()
	w.finish(trace)
}

// finish has everything done that can be: turns and steps, which may wait for their time, or for the end of a lease that
// was lost.
func (w *world) finish(trace string) {
	for end := time.Now().Add(patience); ; {
		w.turns()
		var open int
		if w.ask(&open, "select proof.left_over($1)", spaces(trace)); open == 0 {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%d turns and steps never end", open)
		}
		w.pass(300 * time.Millisecond)
		w.release()
		<-time.After(2 * time.Millisecond)
	}
}

// judge compares what was told with what is stored.
func (w *world) judge(trace string, rec *proof.Recorder, cuts bool) {
	records, err := w.records(trace)
	if err != nil {
		w.t.Fatal(err)
	}
	now := w.now()
	told := map[history.RunKey][]proof.Call{}
	for _, c := range rec.Calls() {
		told[c.Key(trace)] = append(told[c.Key(trace)], c)
	}
	for key, calls := range told {
		r, ok := records[key]
		if !ok {
			r.Run.Key = key
		}
		broken := proof.Check(calls, r.Events, proof.Trouble{ConnectionsBroke: cuts})
		if ok {
			broken = slices.Concat(broken, r.Broken(now), w.attempts.Broken(key, r.Events, true))
		}
		if len(broken) > 0 {
			w.t.Errorf("run %s/%s:\n%s\ncalls:\n%s\n%s",
				key.Namespace, key.RunID, strings.Join(broken, "\n"), callLines(calls), recordStory(r))
		}
	}
	for key := range records {
		if told[key] == nil {
			w.t.Errorf("run %s/%s: nobody started it", key.Namespace, key.RunID)
		}
	}
}

func callLines(calls []proof.Call) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}
