package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// gather takes three signals and an answer, and tells what it got.
var gather = workflow{
	spec.WorkflowSpec{Name: "gather", Version: "1", Signals: []spec.Signal{{Name: "item"}}},
	func(c *engine.Context) (engine.Decision, error) {
		var got []string
		for i := range 3 {
			item, ok, err := engine.SignalPayload[string](c, engine.ID("w", i))
			if err != nil || !ok {
				return c.Await(c.WaitForSignal(engine.ID("w", i), "item"), c.CreateHook("answer")), err
			}
			got = append(got, item)
		}
		answer, ok, err := engine.HookPayload[string](c, "answer")
		if err != nil || !ok {
			return c.WaitForHook("answer"), err
		}
		return c.Complete(append(got, answer)), nil
	},
}

// brokenPool is a pool on the database of another one, whose connections a breaker sees.
func brokenPool(t *testing.T, pool *pgxpool.Pool, b *pgfault.Breaker) *pgxpool.Pool {
	t.Helper()
	if _, err := pool.Exec(t.Context(), pgfault.Install); err != nil {
		t.Fatal(err)
	}
	cfg := pool.Config()
	cfg.ConnConfig.DialFunc = b.Dialer(cfg.ConnConfig.DialFunc)
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, strings.Join(pgfault.Prepare(), ";"))
		return err
	}
	cfg.MaxConns = 8
	broken, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broken.Close)
	return broken
}

// trouble breaks statements one after the other, at random.
type trouble struct {
	breaker pgfault.Breaker
	random  *rand.Rand
	news    chan struct{} // something was acknowledged: what is held back is let go
	faults  int
}

// mostFaults bounds the trouble: the dispatcher rests longer after each error of a row.
const mostFaults = 100

func (x *trouble) run(stop <-chan struct{}) {
	defer x.breaker.Clear()
	kinds := []pgfault.Kind{pgfault.LoseBefore, pgfault.LoseAfter, pgfault.Hold, pgfault.Detach, pgfault.Refuse, pgfault.Refuse}
	states := pgfault.States()
	for x.faults < mostFaults {
		f := x.breaker.At(1+x.random.IntN(12), kinds[x.random.IntN(len(kinds))], states[x.random.IntN(len(states))])
		select {
		case <-stop:
			return
		case <-f.Met():
			x.faults++
		}
		select {
		case <-x.news:
		case <-f.Done():
		case <-stop:
		case <-time.After(50 * time.Millisecond): // nobody else gets on either
		}
		f.Release()
	}
}

// caller sends what belongs to one run, each again until it is acknowledged.
type caller struct {
	r        *rig
	run      spec.RunID
	news     chan struct{}
	token    string
	accepted map[string]int
}

// insist makes a call until it succeeds. Our trouble is nobody else's fault.
func (c *caller) insist(what string, call func() (engine.Verdict, error)) {
	for deadline := time.Now().Add(patience); ; {
		verdict, err := call()
		switch {
		case err == nil:
			if verdict == engine.VerdictAccepted {
				c.accepted[what]++
			}
			select {
			case c.news <- struct{}{}:
			default:
			}
			return
		case engine.VerdictOf(err) != engine.VerdictBusy:
			c.r.t.Errorf("%s to %s: %v", what, c.run, err)
			return
		case time.Now().After(deadline):
			c.r.t.Errorf("%s to %s is never acknowledged: %v", what, c.run, err)
			return
		}
	}
}

func (c *caller) all() {
	ctx := context.Background()
	c.insist("start", func() (engine.Verdict, error) {
		s, err := c.r.Start(ctx, engine.StartRequest{Workflow: "gather", RunID: c.run, Input: []byte("7")})
		return s.Verdict, err
	})
	for i := range 3 {
		c.insist(fmt.Sprint("signal ", i), func() (engine.Verdict, error) { return c.signal(c.r, i) })
	}
	c.findToken()
	c.insist("callback", func() (engine.Verdict, error) { return c.answer(c.r) })
}

func (c *caller) signal(r *rig, i int) (engine.Verdict, error) {
	receipt, err := r.send(c.run, spec.SignalID(fmt.Sprint(i)), "item", fmt.Sprint("item ", i))
	return receipt.Verdict, err
}

func (c *caller) answer(r *rig) (engine.Verdict, error) {
	receipt, err := r.callback(c.token, "yes")
	return receipt.Verdict, err
}

// findToken waits for the hook, which the run opens in its first turn.
func (c *caller) findToken() {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		link, err := c.r.HookLink(context.Background(), c.run, "answer")
		if err == nil {
			c.token = link.Token.Reveal()
			return
		}
		if v := engine.VerdictOf(err); v != engine.VerdictBusy && v != engine.VerdictUnknown {
			c.r.t.Errorf("link of %s: %v", c.run, err)
			return
		}
		<-time.After(2 * time.Millisecond)
	}
	c.r.t.Errorf("%s never opens its hook", c.run)
}

// A whole engine, its hints and its dispatcher included, on connections that break at random statements, while runs are
// started, signalled and called back. In the end everything that was acknowledged has been consumed, once.
func TestRandomFaultsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			x := &trouble{random: rand.New(rand.NewPCG(seed, 1)), news: make(chan struct{}, 1)}
			r := idle(t, testConfig(t, brokenPool(t, pool, &x.breaker)), gather).run()
			callers := make([]*caller, 50)
			for i := range callers {
				callers[i] = &caller{r: r, run: spec.RunID(fmt.Sprint("run-", i)), news: x.news, accepted: map[string]int{}}
			}
			stop := make(chan struct{})
			var breaking sync.WaitGroup
			breaking.Go(func() { x.run(stop) })
			parallel(10, func(i int) {
				for n := i; n < len(callers); n += 10 {
					callers[n].all()
				}
			})
			close(stop)
			breaking.Wait()
			x.breaker.Wait()
			if x.faults < 30 {
				t.Errorf("%d faults only", x.faults)
			}
			healthy := idle(t, testConfig(t, pool)).run()
			for _, c := range callers {
				c.check(healthy)
			}
			t.Logf("%d faults", x.faults)
		})
	}
}

// check reads what became of the run, by another process.
func (c *caller) check(r *rig) {
	r.t.Helper()
	s := r.until(c.run, "completed", func(s engine.Snapshot) bool { return s.Status == engine.StatusCompleted })
	if string(s.Output) != `["item 0","item 1","item 2","yes"]` || s.UnreadSignals != 0 {
		r.t.Errorf("%s: %s, %d unread", c.run, s.Output, s.UnreadSignals)
	}
	for what, n := range c.accepted {
		if n > 1 {
			r.t.Errorf("%s to %s was accepted %d times", what, c.run, n)
		}
	}
	for i := range 3 {
		if v, err := c.signal(r, i); v != engine.VerdictDuplicate {
			r.t.Errorf("signal %d to %s sent again: %s %v", i, c.run, v, err)
		}
	}
	if v, err := c.answer(r); v != engine.VerdictDuplicate {
		r.t.Errorf("callback to %s sent again: %s %v", c.run, v, err)
	}
}
