package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// shop is what two processes register: an order reserves by a step, has a child pack it, tells the ledger, and charges.
type shop struct{ reserved, released atomic.Int32 }

func (s *shop) register(e *engine.Engine) error {
	reserve := func(_ context.Context, _ *engine.Step, n int) (int, error) {
		s.reserved.Add(1)
		return 10 * n, nil
	}
	release := func(_ context.Context, _ *engine.Step, place int) (int, error) {
		s.released.Add(1)
		return place, nil
	}
	charge := func(_ context.Context, step *engine.Step, n int) (string, error) {
		switch {
		case n%2 == 1:
			return "", engine.NonRetryable(engine.Coded("declined", errors.New("no money")))
		case step.Attempt == 1:
			return "", errors.New("try again")
		}
		return "charged", nil
	}
	entry := []spec.Signal{{Name: "entry"}}
	return errors.Join(
		engine.RegisterStep(e, "reserve", reserve), engine.RegisterStep(e, "release", release), engine.RegisterStep(e, "charge", charge),
		e.Register(spec.WorkflowSpec{Name: "order", Version: "1"}, flow.Func(order)),
		e.Register(spec.WorkflowSpec{Name: "pack", Version: "1"}, flow.Func(func(w *flow.Workflow, n int) (string, error) {
			return fmt.Sprint("packed ", n), flow.Sleep(w, "fold", time.Millisecond)
		})),
		e.Register(spec.WorkflowSpec{Name: "ledger", Version: "1", Signals: entry}, flow.Func(func(w *flow.Workflow, n int) ([]string, error) {
			entries, err := flow.CollectSignals[string](w, "entry", n, flow.Forever)
			slices.Sort(entries)
			return entries, err
		})),
	)
}

func order(w *flow.Workflow, n int) (string, error) {
	place := flow.StartStep[int](w, "reserve", "reserve", n, retry)
	packed := flow.StartChild[string](w, "pack", "pack", w.RunID()+"-pack", n)
	if err := flow.All(w, place, packed); err != nil {
		return "", err
	}
	where, err := place.Await()
	if err != nil {
		return "", err
	}
	flow.Compensate(w, func() error {
		_, err := flow.Step[int](w, "release", "release", where, retry)
		return err
	})
	what, err := packed.Await()
	if err != nil {
		return "", err
	}
	flow.SignalRun(w, "tell", "ledger", engine.OutgoingSignal{Name: "entry", Payload: fmt.Sprint(what, " at ", where)})
	charged, err := flow.Step[string](w, "charge", "charge", n, spec.FixedRetry(3, time.Millisecond))
	return what + " " + charged, err
}

// TestStepsChildrenAndCallsOfTwoProcesses: what a function asks for is done by workers of either process.
func TestStepsChildrenAndCallsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	pool, shop := pgtest.New(t), &shop{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, second := newProcess(t, pool, shop.register), newProcess(t, pool, shop.register)
	const n = 6
	begin := func(p *process, workflow string, run spec.RunID, input int) {
		t.Helper()
		if _, err := p.Start(ctx, engine.StartRequest{Workflow: workflow, RunID: run, Input: []byte(fmt.Sprint(input))}); err != nil {
			t.Fatal(err)
		}
	}
	end := func(run spec.RunID) string {
		t.Helper()
		s, err := second.Wait(ctx, run)
		if err != nil {
			now, _ := second.Snapshot(context.WithoutCancel(ctx), run)
			t.Fatalf("wait for %s: %v; it is %+v", run, err, now)
		}
		return fmt.Sprintf("%s %s%s", s.Status, s.Output, s.Error)
	}
	begin(first, "ledger", "ledger", n)
	for i := range n {
		begin([]*process{first, second}[i%2], "order", spec.RunID(fmt.Sprint("order-", i)), i)
	}
	entries := []string{}
	for i := range n {
		want := fmt.Sprintf(`completed "packed %d charged"`, i)
		if i%2 == 1 {
			want = `failed step "charge" failed (non_retryable): no money`
		}
		if got := end(spec.RunID(fmt.Sprint("order-", i))); got != want {
			t.Errorf("order %d is %s, want %s", i, got, want)
		}
		entries = append(entries, fmt.Sprintf(`"packed %d at %d"`, i, 10*i))
	}
	if diff := cmp.Diff("completed ["+strings.Join(entries, ",")+"]", end("ledger")); diff != "" {
		t.Error(diff)
	}
	if shop.reserved.Load() != n || shop.released.Load() != n/2 {
		t.Errorf("%d reserved, %d released", shop.reserved.Load(), shop.released.Load())
	}
	second.verify(ctx, t)
}
