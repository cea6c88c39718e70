package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// patience bounds every wait of a test for something that should happen soon.
const patience = 60 * time.Second

// rig is one engine process on a database of the test's own. Several rigs may share a pool.
type rig struct {
	*engine.Engine
	t    testing.TB
	pool *pgxpool.Pool
	stop func()
}

// workflow is what a rig registers.
type workflow struct {
	spec spec.WorkflowSpec
	fn   engine.Workflow
}

func ringWith(t testing.TB, id, secret string) *tokens.Keyring {
	t.Helper()
	key := []tokens.Key{{ID: id, Secret: []byte(strings.Repeat(secret, 32))}}
	keys, err := tokens.NewKeyring(key, key)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func testConfig(t testing.TB, pool *pgxpool.Pool) engine.Config {
	t.Helper()
	return engine.Config{Pool: pool, Keys: ringWith(t, "k1", "s"), PublicURL: "https://flow.example.com"}
}

// idle makes an engine that does not run yet.
func idle(t testing.TB, cfg engine.Config, workflows ...workflow) *rig {
	t.Helper()
	e, err := engine.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workflows {
		if err := e.Register(w.spec, w.fn); err != nil {
			t.Fatal(err)
		}
	}
	return &rig{Engine: e, t: t, pool: cfg.Pool, stop: func() {}}
}

// run starts the engine; it is stopped by the test's end, or by stop.
func (r *rig) run() *rig {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				r.t.Errorf("Run returned %v", err)
			}
		case <-time.After(patience):
			r.t.Error("Run does not return")
		}
	})
	r.t.Cleanup(func() { r.stop() })
	return r
}

// newRig is an engine that runs, on a new database.
func newRig(t testing.TB, workflows ...workflow) *rig {
	t.Helper()
	return idle(t, testConfig(t, pgtest.New(t)), workflows...).run()
}

// beside is a further process on the same database.
func (r *rig) beside(workflows ...workflow) *rig {
	r.t.Helper()
	return idle(r.t, testConfig(r.t, r.pool), workflows...).run()
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.t.Cleanup(cancel)
	return ctx
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (r *rig) start(w workflow, id spec.RunID, input any) engine.Started {
	r.t.Helper()
	s, err := r.Start(r.ctx(), engine.StartRequest{
		Workflow: w.spec.Name, Version: w.spec.Version, RunID: id, Input: encode(r.t, input),
	})
	if err != nil {
		r.t.Fatalf("start %s: %v", id, err)
	}
	return s
}

func (r *rig) send(run spec.RunID, id spec.SignalID, name string, payload any) (engine.Receipt, error) {
	r.t.Helper()
	return r.SendSignal(r.ctx(), engine.SignalRequest{RunID: run, SignalID: id, Name: name, Payload: encode(r.t, payload)})
}

func (r *rig) mustSend(run spec.RunID, id spec.SignalID, name string, payload any) engine.Receipt {
	r.t.Helper()
	receipt, err := r.send(run, id, name, payload)
	if err != nil {
		r.t.Fatalf("signal %s to %s: %v", id, run, err)
	}
	return receipt
}

func (r *rig) resume(run spec.RunID, id spec.HookID, payload any) (engine.Receipt, error) {
	r.t.Helper()
	return r.ResumeHook(r.ctx(), engine.HookRequest{RunID: run, HookID: id, Payload: encode(r.t, payload)})
}

func (r *rig) callback(token string, payload any) (engine.Receipt, error) {
	r.t.Helper()
	return r.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Payload: encode(r.t, payload)})
}

func (r *rig) link(run spec.RunID, id spec.HookID) engine.Link {
	r.t.Helper()
	l, err := r.HookLink(r.ctx(), run, id)
	if err != nil {
		r.t.Fatalf("link of %s %s: %v", run, id, err)
	}
	return l
}

func (r *rig) snapshot(run spec.RunID) engine.Snapshot {
	r.t.Helper()
	s, err := r.Snapshot(r.ctx(), run)
	if err != nil {
		r.t.Fatalf("snapshot of %s: %v", run, err)
	}
	return s
}

// ended waits for the end of a run.
func (r *rig) ended(run spec.RunID) engine.Snapshot {
	r.t.Helper()
	s, err := r.Wait(r.ctx(), run)
	if err != nil {
		r.t.Fatalf("wait for %s: %v; it is %+v", run, err, r.snapshot(run))
	}
	return s
}

// completed waits for a run and gives its output.
func (r *rig) completed(run spec.RunID) string {
	r.t.Helper()
	s := r.ended(run)
	if s.Status != engine.StatusCompleted {
		r.t.Fatalf("run %s is %s: %s", run, s.Status, s.Error)
	}
	return string(s.Output)
}

// until reads a run until it is as wanted.
func (r *rig) until(run spec.RunID, what string, wanted func(engine.Snapshot) bool) engine.Snapshot {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		s, err := r.Snapshot(r.ctx(), run)
		if err != nil && !errors.Is(err, engine.ErrUnavailable) {
			r.t.Fatalf("snapshot of %s: %v", run, err)
		}
		if err == nil && wanted(s) {
			return s
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("run %s is never %s: %+v", run, what, s)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// waiting reads a run until it waits for exactly these IDs.
func (r *rig) waiting(run spec.RunID, ids ...string) engine.Snapshot {
	r.t.Helper()
	return r.until(run, "waiting for "+strings.Join(ids, ", "), func(s engine.Snapshot) bool {
		if len(s.Waiting) != len(ids) {
			return false
		}
		for i, w := range s.Waiting {
			if w.ID != ids[i] {
				return false
			}
		}
		return true
	})
}

func (r *rig) blocked(run spec.RunID) engine.Snapshot {
	r.t.Helper()
	return r.until(run, "blocked", func(s engine.Snapshot) bool { return s.Status == engine.StatusBlocked })
}

// events lists the history of the newest generation.
func (r *rig) events(run spec.RunID) []engine.HistoryEvent {
	r.t.Helper()
	var all []engine.HistoryEvent
	for q := (engine.HistoryQuery{}); ; {
		p, err := r.History(r.ctx(), run, q)
		if err != nil {
			r.t.Fatalf("history of %s: %v", run, err)
		}
		all = append(all, p.Events...)
		if p.NextCursor == "" {
			return all
		}
		q.Cursor = p.NextCursor
	}
}

func (r *rig) types(run spec.RunID) []string {
	r.t.Helper()
	var types []string
	for _, e := range r.events(run) {
		types = append(types, e.Type)
	}
	return types
}

// parallel calls fn n times at once.
func parallel(n int, fn func(i int)) {
	var group sync.WaitGroup
	ready := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-ready
			fn(i)
		})
	}
	close(ready)
	group.Wait()
}

func verdict(r engine.Receipt, err error) engine.Verdict {
	if err != nil {
		return engine.VerdictOf(err)
	}
	return r.Verdict
}
