package flow_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

var wildNames = []string{"go", "item", "stop"}

// wild is a function that goes on at random, by what it was shown so far: two passes that were shown the same do the same,
// and the first difference between them grows.
type wild struct {
	w       *flow.Workflow
	seed    uint64
	trace   []string
	pool    []flow.Awaitable
	n       int
	handled int
	handles bool
	unit    time.Duration
}

func (x *wild) note(format string, args ...any) {
	x.trace = append(x.trace, fmt.Sprintf(format, args...)+fmt.Sprintf("@%d/%s/%v", x.w.Settled(), x.w.Now().Format("04:05.000000"), x.w.CancelRequested()))
}

func (x *wild) rand() *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, x.trace)
	return rand.New(rand.NewPCG(x.seed, h.Sum64()))
}

func (x *wild) id(kind string) string {
	x.n++
	if x.seed%2 == 1 {
		return fmt.Sprintf("%s0-%d", kind, x.n) // the same in every generation
	}
	return fmt.Sprintf("%s%d-%d", kind, x.w.Generation(), x.n)
}

func (x *wild) open(r *rand.Rand) flow.Awaitable {
	d := time.Duration(r.IntN(6)) * x.unit
	switch r.IntN(7) {
	case 0:
		var opts []engine.HookOption
		if r.IntN(3) == 0 {
			opts = append(opts, engine.ExpiresIn(d))
		}
		if x.seed%2 == 0 && r.IntN(4) == 0 {
			opts = append(opts, engine.Token(sharedToken))
		}
		return flow.CreateHook(x.w, x.id("h"), opts...)
	case 1:
		return flow.StartStep[raw](x.w, x.id("s"), "work", d, retry)
	case 2:
		return flow.StartTimer(x.w, x.id("t"), d)
	case 3:
		return flow.NewTimer(x.w, x.id("t"), d)
	case 4:
		return flow.Signal[raw](x.w, x.id("w"), wildNames[r.IntN(3)])
	case 5:
		return flow.Signal[raw](x.w, x.id("w"), wildNames[r.IntN(3)], engine.Timeout(d))
	}
	return flow.SignalRun(x.w, x.id("c"), "other", engine.OutgoingSignal{Name: "go", Payload: d})
}

func (x *wild) some(r *rand.Rand) []flow.Awaitable {
	var list []flow.Awaitable
	for _, a := range x.pool {
		if r.IntN(2) == 0 {
			list = append(list, a)
		}
	}
	return append(list, x.open(r))
}

func (x *wild) end(a flow.Awaitable) {
	switch a := a.(type) {
	case *flow.Hook:
		a.Dispose()
	case *flow.Timer:
		a.Stop()
	case *flow.StepFuture[raw]:
		a.Cancel()
	}
}

func idOf(a flow.Awaitable) string {
	if a == nil {
		return "-"
	}
	return a.(interface{ ID() string }).ID()
}

func (x *wild) act(r *rand.Rand) error {
	d := time.Duration(r.IntN(5)) * x.unit
	switch r.IntN(14) {
	case 0, 1:
		x.pool = append(x.pool, x.open(r))
		return nil
	case 2, 3, 4:
		list := x.some(r)
		won, err := flow.Race(x.w, list...)
		x.note("race %s %v", idOf(won), err)
		x.pool = append(x.pool, list[len(list)-1])
		return err
	case 5:
		list := append(x.some(r), flow.NewTimer(x.w, x.id("t"), d))
		list = list[max(0, len(list)-3):]
		err := flow.All(x.w, list...)
		x.note("all %v", err)
		return err
	case 11:
		if len(x.pool) > 0 {
			a := x.pool[r.IntN(len(x.pool))]
			x.end(a)
			x.note("end %s %v", idOf(a), a.Settled())
		}
		return nil
	case 12:
		x.compensate(d)
		return nil
	case 13:
		err := flow.Sleep(x.w, x.id("z"), d)
		x.note("sleep %v", err)
		return err
	}
	return x.receive(r, d)
}

// receive waits for signals, in one of the ways there are.
func (x *wild) receive(r *rand.Rand, d time.Duration) error {
	switch name := wildNames[r.IntN(3)]; r.IntN(5) {
	case 0:
		_, ok, err := flow.TryReceive[raw](x.w, x.id("try"), name)
		x.note("try %v %v", ok, err)
		return err
	case 1:
		got, err := flow.Drain[raw](x.w, x.id("drain"), name)
		x.note("drain %v %v", len(got), err)
		return err
	case 2:
		got, err := flow.CollectSignals[raw](x.w, name, 1+r.IntN(3), d)
		x.note("collect %v %v", len(got), err)
		return err
	case 3:
		want := x.handled + 1
		ok, err := flow.AwaitConditionTimeout(x.w, x.id("ct"), d, func() bool { return x.handled >= want })
		x.note("cond %v %v", ok, err)
		return err
	}
	if !x.handles {
		x.handles = true
		x.handle(wildNames[r.IntN(3)])
	}
	return nil
}

// handle takes the signals of a name, and opens and ends things meanwhile.
func (x *wild) handle(name string) {
	var h *flow.Handler
	h = flow.OnSignal(x.w, name, func(raw) {
		x.handled++
		x.note("handled")
		r := x.rand()
		if r.IntN(2) == 0 {
			x.pool = append(x.pool, x.open(r))
		}
		if len(x.pool) > 0 && r.IntN(3) == 0 {
			x.end(x.pool[r.IntN(len(x.pool))])
		}
		if h != nil && r.IntN(6) == 0 {
			h.Stop()
		}
	})
}

func (x *wild) compensate(d time.Duration) {
	flow.Compensate(x.w, func() error {
		_, err := flow.Race(x.w, flow.NewTimer(x.w, x.id("u"), d), flow.Signal[raw](x.w, x.id("w"), "go"))
		x.note("undone %v", err)
		if x.rand().IntN(5) == 0 {
			return errors.New("no undo")
		}
		return err
	})
}

func wildFlow(seed uint64) engine.Workflow {
	return flow.Func(func(w *flow.Workflow, in []string) (any, error) { return goWild(w, in, seed, time.Second) })
}

func goWild(w *flow.Workflow, in []string, seed uint64, unit time.Duration) (any, error) {
	x := &wild{w: w, seed: seed, trace: in, unit: unit}
	for range 14 {
		r := x.rand()
		err := x.act(r)
		if err != nil && !errors.Is(err, flow.ErrCancelled) {
			return nil, err
		}
		if err != nil && r.IntN(2) == 0 {
			return nil, err
		}
		x.note("next")
	}
	switch r := x.rand(); {
	case w.Generation() < 3 && r.IntN(2) == 0:
		for _, a := range x.pool {
			if s, ok := a.(*flow.StepFuture[raw]); ok {
				s.Cancel()
			}
		}
		return nil, flow.ContinueAsNew(w, []string{strings.Join(x.trace, ",")})
	case r.IntN(3) == 0:
		return nil, errors.New("bad end")
	}
	return x.trace, nil
}

// wildEvent lets something happen to a run at random, and says how that was answered.
func wildEvent(r *rand.Rand, run *enginetest.Run, n int) (log []string) {
	switch k := r.IntN(20); {
	case k < 7:
		_, err := run.TrySignal(spec.SignalID(fmt.Sprint("s", n)), wildNames[r.IntN(3)], r.IntN(4))
		log = append(log, fmt.Sprint("signal ", engine.VerdictOf(err)))
	case k < 12:
		for _, id := range wildIDs.FindAllString(strings.Join(run.Events(), "\n"), -1) {
			switch how := r.IntN(8); {
			case id[1] == 'h' && how < 3:
				_, err := run.TryResume(spec.HookID(strings.Trim(id, `"`)), how)
				log = append(log, fmt.Sprint(id, engine.VerdictOf(err)))
			case id[1] == 's' && how < 3:
				log = append(log, fmt.Sprint(id, engine.VerdictOf(run.TryCompleteStep(spec.StepID(strings.Trim(id, `"`)), how))))
			case id[1] == 's' && how == 3:
				log = append(log, fmt.Sprint(id, engine.VerdictOf(run.TryFailStep(spec.StepID(strings.Trim(id, `"`)), "", "no"))))
			}
		}
	case k < 16:
		run.Advance(time.Duration(r.IntN(4000)) * time.Millisecond)
	case k == 16 && r.IntN(4) == 0:
		log = append(log, fmt.Sprint("cancel ", engine.VerdictOf(run.TryCancel())))
	case r.IntN(2) == 0:
		run.Release()
	default:
		run.Hold()
	}
	return log
}

// wildIDs are the hooks and steps that a history names.
var wildIDs = regexp.MustCompile(`"[hs][0-9]+-[0-9]+"`)

func wildRun(t *testing.T, seed uint64, opts ...enginetest.Option) (events []string, reason string) {
	t.Helper()
	cut := enginetest.WithLimits(engine.Limits{TurnEvents: 1 + int(seed/2%2)*500}) // every second pair in turns of one event
	run := enginetest.New(t, cooperative, wildFlow(seed), append(opts, cut)...)
	run.ExpectBlocked()
	r := rand.New(rand.NewPCG(seed, 7))
	run.Start([]string{})
	for n := range 10 + r.IntN(60) {
		events = append(events, wildEvent(r, run, n)...)
	}
	run.Release()
	run.Advance(20 * time.Second)
	return append(run.Events(), events...), run.BlockedReason()
}

// TestWild: whatever a function does with what this package has, and whatever happens meanwhile, it does the same replayed
// from its beginning at every call, and is never taken for one that changed.
func TestWild(t *testing.T) {
	t.Parallel()
	ended := 0
	for seed := range uint64(80) {
		want, reason := wildRun(t, seed)
		got, _ := wildRun(t, seed, enginetest.FromTop())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: in place and from the top differ:\n%s", seed, diff)
		}
		if strings.Contains(reason, string(engine.CauseNonDeterminism)) {
			t.Fatalf("seed %d: %s\n%s", seed, reason, strings.Join(want, "\n"))
		}
		if strings.Contains(strings.Join(want, " "), " run.c") {
			ended++
		}
	}
	if ended < 20 {
		t.Errorf("%d runs came to an end", ended)
	}
}
