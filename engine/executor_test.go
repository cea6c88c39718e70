package engine

import (
	"crypto/rand"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

func testKeys(t testing.TB) *tokens.Keyring {
	t.Helper()
	key := []tokens.Key{{ID: "k1", Secret: []byte(strings.Repeat("secret", 6))}}
	keys, err := tokens.NewKeyring(key, key)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func testExecutor(t testing.TB, call, batch time.Duration) *executor {
	t.Helper()
	return newExecutor(Config{
		Keys: testKeys(t), Random: rand.Reader, CallBudget: call, BatchBudget: batch, Logger: zerolog.Nop(),
	})
}

// freshTurn is the first turn of a new run.
func freshTurn(t testing.TB, id string, fn Workflow) turnRequest {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	input, err := canon.Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := spec.WorkflowSpec{Name: "w", Version: "1", Signals: []spec.Signal{{Name: "go"}}}
	run := history.Run{
		Key: history.RunKey{Namespace: "default", RunID: spec.RunID(id)}, Workflow: s.Name, Version: s.Version,
		Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: 1, StartedAt: now, UpdatedAt: now,
	}
	records := history.Records{Run: run, Known: true, Fresh: true}
	if _, err := records.Accept(&history.StartRun{Run: run.Key, Workflow: s.Name, Version: s.Version, Input: input}, nil,
		history.DefaultLimits(), now); err != nil {
		t.Fatal(err)
	}
	state, err := history.Fold(run.Key, nil, records.Events)
	if err != nil {
		t.Fatal(err)
	}
	return turnRequest{code: registration{spec: s, fn: fn}, state: state, run: records.Run, now: now}
}

func complete(c *Context) (Decision, error) { return c.Complete(nil), nil }

func TestBatchLeavesOutRunsWhenItsTimeIsUsedUp(t *testing.T) {
	t.Parallel()
	x := testExecutor(t, time.Minute, 20*time.Millisecond)
	b := x.begin()
	slow := func(c *Context) (Decision, error) {
		for deadline := time.Now().Add(25 * time.Millisecond); time.Now().Before(deadline); {
		}
		return c.Complete(nil), nil
	}
	if r := b.turn(freshTurn(t, "a", slow)); r.dropped || !r.outcome.Ended {
		t.Errorf("the first run of a batch is always called: %+v", r)
	}
	if r := b.turn(freshTurn(t, "b", complete)); !r.dropped || r.block != nil {
		t.Errorf("a run was called when the batch's time was used up: %+v", r)
	}
	if r := x.begin().turn(freshTurn(t, "b", complete)); r.dropped || !r.outcome.Ended {
		t.Errorf("the run is called in the next batch: %+v", r)
	}
}

func TestLongTurnIsCutBetweenCalls(t *testing.T) {
	t.Parallel()
	x := testExecutor(t, time.Minute, 20*time.Millisecond)
	req := freshTurn(t, "a", func(c *Context) (Decision, error) {
		for deadline := time.Now().Add(15 * time.Millisecond); time.Now().Before(deadline); {
		}
		n := 0
		for c.TimerFired(ID("t", n)) {
			n++
		}
		return c.Timer(ID("t", n), 0), nil // due at once, for ever
	})
	r := x.begin().turn(req)
	if r.dropped || r.outcome.Blocked || len(r.outcome.Events) == 0 || len(r.outcome.Events) > 6 {
		t.Fatalf("outcome %+v", r)
	}
	if wake := r.outcome.Run.WakeAt; wake == nil || !wake.Equal(req.now) {
		t.Errorf("the rest of a cut turn is due at %v, not at once", wake)
	}
}

func TestAbandonedCallsStopTheirWorkflow(t *testing.T) {
	t.Parallel()
	x := testExecutor(t, time.Millisecond, time.Minute)
	release := make(chan struct{})
	stuck := func(c *Context) (Decision, error) {
		<-release
		return c.Complete(nil), nil
	}
	for i := range maxStuck {
		if x.stuck.full("w") {
			t.Fatalf("the workflow is stopped after %d abandoned calls", i)
		}
		r := x.begin().turn(freshTurn(t, ID("run", i), stuck))
		if !r.dropped || r.block == nil || r.block.cause != history.BlockBudget {
			t.Fatalf("an abandoned call gave %+v", r)
		}
	}
	if !x.stuck.full("w") || x.stuck.full("other") || x.stuck.count() != maxStuck {
		t.Errorf("full %v, other %v, count %d", x.stuck.full("w"), x.stuck.full("other"), x.stuck.count())
	}
	if r := x.begin().turn(freshTurn(t, "new", complete)); !r.dropped {
		t.Errorf("a run of a stopped workflow was called: %+v", r)
	}
	if r := x.begin().turn(freshTurn(t, "run-0", complete)); r.dropped || r.outcome.Run.BlockCause != history.BlockBudget {
		t.Errorf("a run was called beside its abandoned call: %+v", r)
	}
	close(release)
	for x.stuck.count() > 0 {
		runtime.Gosched()
	}
	if r := x.begin().turn(freshTurn(t, "run-0", complete)); r.dropped || !r.outcome.Ended {
		t.Errorf("after the goroutines ended the run is not called: %+v", r)
	}
	if len(x.stuck.runs) != 0 || len(x.stuck.workflows) != 0 {
		t.Error("the count of abandoned calls keeps entries")
	}
}

func TestGrantsAreMintedOncePerHook(t *testing.T) {
	t.Parallel()
	x := testExecutor(t, time.Minute, time.Minute)
	req := freshTurn(t, "a", func(c *Context) (Decision, error) {
		return c.Await(c.CreateHook("minted"), c.CreateHook("host", Token(strings.Repeat("h", 40)))), nil
	})
	r := x.begin().turn(req)
	if len(r.outcome.NewHooks) != 2 {
		t.Fatalf("outcome %+v", r)
	}
	minted, host := r.outcome.NewHooks[0], r.outcome.NewHooks[1]
	token, err := remint(x.keys, req.run.Key, minted)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := tokens.Parse(token.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if key, digest := x.keys.Digest(parsed); key != minted.Grant.DigestKey || history.TokenDigest(digest) != minted.Grant.Digest {
		t.Error("the reminted token does not find its hook")
	}
	if host.Grant.MintKey != "" || host.Grant.Nonce != nil || host.Grant.DigestKey != "k1" {
		t.Errorf("grant of a host token: mint key %q, digest key %q", host.Grant.MintKey, host.Grant.DigestKey)
	}
}
