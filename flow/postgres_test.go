package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// patience bounds every wait of a test for something that should happen soon.
const patience = 30 * time.Second

// onboarding asks two people, then takes three items, and starts a new generation half-way.
func onboarding(w *flow.Workflow, in plan) (plan, error) {
	asked := []*flow.Hook{flow.CreateHook(w, fmt.Sprint("left-", in.Round)), flow.CreateHook(w, fmt.Sprint("right-", in.Round))}
	for len(asked) > 0 {
		hook, err := flow.Next(w, &asked)
		if err != nil {
			return in, err
		}
		answer, err := flow.AwaitHook[string](hook)
		if err != nil {
			return in, err
		}
		in.Seen = append(in.Seen, hook.ID()+" "+answer)
	}
	items, err := flow.CollectSignals[int](w, "item", 3, flow.Forever)
	in.Seen = append(in.Seen, fmt.Sprint(items))
	if in.Round++; err == nil && in.Round < 2 {
		return in, flow.ContinueAsNew(w, in)
	}
	return in, err
}

type plan struct {
	Round int      `json:"round"`
	Seen  []string `json:"seen"`
}

type process struct {
	*engine.Engine
	stop func()
}

// newProcess is an engine at work on a database, with what register gives it.
func newProcess(t *testing.T, pool *pgxpool.Pool, register func(e *engine.Engine) error) *process {
	t.Helper()
	key := []tokens.Key{{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}}
	keys, err := tokens.NewKeyring(key, key)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Pool: pool, Keys: keys, PublicURL: "https://flow.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := register(e); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	p := &process{e, sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})}
	t.Cleanup(p.stop)
	return p
}

// step delivers the messages of one round to a run, and waits where the next one needs what the last one opens.
func (p *process) step(ctx context.Context, run spec.RunID, round int) error {
	for _, hook := range []string{"right", "left"} {
		id := spec.HookID(fmt.Sprint(hook, "-", round))
		for { // until the turn that opens it was taken, by whichever process
			_, err := p.ResumeHook(ctx, engine.HookRequest{RunID: run, HookID: id, Payload: []byte(`"yes"`)})
			if err == nil {
				break
			}
			if engine.VerdictOf(err) != engine.VerdictUnknown || ctx.Err() != nil {
				return fmt.Errorf("%s %s: %w", run, id, err)
			}
		}
	}
	for i := range 3 {
		id, text := spec.SignalID(fmt.Sprint("s", round, i)), fmt.Sprint(round*10+i)
		if _, err := p.SendSignal(ctx, engine.SignalRequest{RunID: run, SignalID: id, Name: "item", Payload: []byte(text)}); err != nil {
			return fmt.Errorf("%s %s: %w", run, id, err)
		}
	}
	return nil
}

// TestTwoProcesses: runs that one process began go on in another, which was never shown what the first one was, and both
// at once take turns of the same runs.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	register := func(e *engine.Engine) error { return e.Register(testSpec, flow.Func(onboarding)) }
	first, second := newProcess(t, pool, register), newProcess(t, pool, register)
	const n = 16
	each := func(do func(run spec.RunID, i int) error) {
		t.Helper()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if err := do(spec.RunID(fmt.Sprint("run-", i)), i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	each(func(run spec.RunID, i int) error {
		p := []*process{first, second}[i%2]
		if _, err := p.Start(ctx, engine.StartRequest{Workflow: testSpec.Name, RunID: run, Input: []byte(`{}`)}); err != nil {
			return err
		}
		return []*process{second, first}[i%2].step(ctx, run, 0)
	})
	first.stop()
	each(func(run spec.RunID, _ int) error { return second.step(ctx, run, 1) })
	want := plan{Round: 2, Seen: []string{"right-0 yes", "left-0 yes", "[0 1 2]", "right-1 yes", "left-1 yes", "[10 11 12]"}}
	each(func(run spec.RunID, _ int) error {
		s, err := second.Wait(ctx, run)
		if err != nil {
			return err
		}
		var got plan
		if err := json.Unmarshal(s.Output, &got); err != nil {
			return fmt.Errorf("%s is %s %s: %w", run, s.Status, s.BlockedReason, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("%s: %s", run, diff)
		}
		return nil
	})
	second.verify(ctx, t)
}

// verify wants every row to be what the events say.
func (p *process) verify(ctx context.Context, t *testing.T) {
	t.Helper()
	for page, err := range p.Verify(ctx, engine.VerifyQuery{}) {
		if err != nil || page.Differences > 0 {
			t.Errorf("verify: %v, %v", err, page.Found)
		}
	}
}
