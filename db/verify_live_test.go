package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// busy is workflow code with short deadlines everywhere: it consumes three signals per generation, in a race with a timer,
// opens a hook per generation and withdraws every other one, and completes in the fourth generation. While broken is set
// it decides nothing, which blocks its runs.
type busy struct{ broken atomic.Bool }

func (b *busy) decide(s *history.State) history.Decision {
	if b.broken.Load() {
		return decide()
	}
	soon, hook := 3*time.Millisecond, fmt.Sprint("h", s.Generation())
	cs := []history.Command{&history.StartTimer{ID: "t", In: &soon}}
	if !s.KnowsHook(spec.HookID(hook)) {
		open := hookOn(hook, fmt.Sprint(s.Key().RunID, hook)).(*history.CreateHook)
		if s.Generation()%2 == 0 {
			open.In = &soon
		}
		cs = append(cs, open)
	}
	for i := range 3 {
		w := history.OpenWait{ID: spec.WaitID(fmt.Sprint("w", i)), Signal: "approved"}
		if i == 1 {
			w.Timeout = &soon
		}
		switch status, _ := s.Wait(string(w.ID)); status {
		case history.WaitDone, history.WaitLate:
			continue
		default:
			return decide(append(cs, &w)...)
		}
	}
	if s.Generation()%2 == 1 {
		cs = append(cs, &history.WithdrawHook{ID: spec.HookID(hook)})
	}
	if s.Generation() == 4 {
		return decide(append(cs, &history.Complete{Output: null})...)
	}
	return decide(append(cs, &history.ContinueAsNew{Input: null})...)
}

// startBusy starts the twelve runs of a prefix, some of them cooperative.
func (r *acceptRig) startBusy(prefix string) {
	r.t.Helper()
	for i := range 12 {
		m := r.startOf(fmt.Sprint(prefix, i))
		if i%3 == 0 {
			m.SpecDigest = coopSpec
		}
		r.ok(m)
	}
}

// disturb sends messages of every kind to the runs of a prefix, most of which are welcome.
func disturb(ctx context.Context, r *acceptRig, prefix string, sender, n int) {
	random := rand.New(rand.NewPCG(uint64(sender), 1))
	for i := range n {
		id := fmt.Sprint(prefix, random.IntN(12))
		var m history.Message
		switch random.IntN(12) {
		case 0:
			m = r.startOf(fmt.Sprint(prefix, sender, "-", i))
		case 1, 2:
			m = r.resume(id, fmt.Sprint("h", 1+random.IntN(4)), "1")
		case 3:
			m = &history.DisposeHook{Run: keyOf(id), HookID: spec.HookID(fmt.Sprint("h", 1+random.IntN(4)))}
		case 4:
			m = &history.RetryRun{Run: keyOf(id)}
		case 5:
			if random.IntN(10) == 0 {
				m = &history.CancelRun{Run: keyOf(id)}
				break
			}
			fallthrough
		default:
			m = r.signal(id, fmt.Sprint("s", sender, "-", i), "1")
		}
		_, _ = r.Accept(ctx, m) // a refusal is as good
	}
}

// On a database that is at work there is no instant at which rows and events differ: while messages come in and turns,
// cut short or not, handed over or claimed, are taken by two processes, one without a cache, verifying again and again
// finds nothing.
func TestVerifyAgreesWhileRunsAreAtWork(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.Takes = func(Code) bool { return true } })
	code := &busy{}
	r.startBusy("r")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var turns, senders sync.WaitGroup
	var handed atomic.Int64
	for _, s := range []*Store{r.Store, r.open(r.pool, func(c *Config) { c.CacheBytes = 1 })} {
		turns.Go(func() { r.turns(ctx, s, code, &handed) })
	}
	var sending atomic.Int32
	for sender := range 3 {
		sending.Add(1)
		senders.Go(func() {
			defer sending.Add(-1)
			disturb(t.Context(), r, "r", sender, 100)
		})
	}
	rounds := 0
	for ; sending.Load() > 0 || rounds < 5; rounds++ {
		code.broken.Store(rounds%4 == 3)
		r.agrees()
	}
	code.broken.Store(false)
	senders.Wait()
	r.agrees()
	for sender := 3; sender < 30 && (len(r.neverHappened()) > 0 || handed.Load() == 0); sender++ { // what happens depends on who is quicker
		fresh := fmt.Sprint("r", sender, "-") // the runs before have ended by now
		r.startBusy(fresh)
		disturb(t.Context(), r, fresh, sender, 50)
		r.agrees()
	}
	stop()
	turns.Wait()
	all := r.agrees()
	if none := r.neverHappened(); len(none) > 0 {
		t.Errorf("no %v: the test did not test", none)
	}
	if handed.Load() == 0 {
		t.Error("nothing was advanced by a hand-over: the test did not test")
	}
	t.Logf("%d rounds; at the end %d runs, %d events", rounds, all.Runs, all.Events)
}

// neverHappened lists the kinds of events that the test is about and that there are none of.
func (r *acceptRig) neverHappened() []string {
	r.t.Helper()
	return value[[]string](r, `select coalesce(array_agg(kind), '{}') from unnest(array['run.continued', 'run.blocked', 'run.unblocked',
		'run.completed', 'hook.resumed', 'hook.expired', 'wait.timed_out']) kind where not exists (select from events where type = kind)`)
}

// turns takes turns until ctx ends, and counts those that were handed over.
func (r *acceptRig) turns(ctx context.Context, s *Store, code *busy, handed *atomic.Int64) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		a := by(code.decide)
		a.Limit = 4
		if n%5 == 0 {
			a.Decide = cutShort(code.decide)
		}
		done, err := s.AdvanceHanded(ctx, a)
		if err == nil {
			handed.Add(int64(done.Committed))
			_, err = s.Advance(ctx, a)
		}
		if err != nil && !errors.Is(err, ErrUnavailable) {
			r.t.Errorf("advance: %v", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// cutShort makes turns that end after one call, or before it.
func cutShort(code author) func(history.Run, *history.State, time.Time, map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
	return func(run history.Run, s *history.State, now time.Time, rejected map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		turn, err := history.NewTurn(s, run, now, history.DefaultLimits(), rejected)
		if err != nil {
			return history.BlockedOutcome(run, history.BlockHistory, err.Error(), now, history.DefaultLimits()), Commit
		}
		if run.NextSeq%2 == 0 {
			turn.Cut()
		}
		for turn.Next() {
			turn.Decide(code(turn.State()))
			turn.Cut()
		}
		return turn.Finish(), Commit
	}
}
