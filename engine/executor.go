package engine

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// executor takes turns of runs by calling author code, within budgets. It is safe for concurrent use.
type executor struct {
	keys        *tokens.Keyring
	random      io.Reader
	limits      history.Limits
	callBudget  time.Duration // of one call
	batchBudget time.Duration // of all turns of one claim
	dev         bool          // call twice on the first round of a turn and compare
	fromTop     bool          // no call goes on where the one before it stopped
	stuck       *stuckCalls
	log         zerolog.Logger

	strayQueries atomic.Int64 // abandoned calls of query handlers whose goroutines have not ended
}

// turnRequest is one run to take a turn of.
type turnRequest struct {
	code     registration
	state    *history.State
	run      history.Run
	now      time.Time
	rejected map[spec.HookID]history.Rejection
}

// turnResult is what became of it. The state is of no further use when the turn was dropped or its outcome is blocked.
type turnResult struct {
	outcome history.Outcome
	dropped bool   // nothing is to be written, the run stays due
	block   *block // of a dropped turn: to be appended by a transaction of its own
}

// block says why a run is to be blocked.
type block struct {
	cause     history.BlockCause
	diagnosis string
}

// batch is the turns of one claim, which share a budget because they share a transaction and its locks.
type batch struct {
	x       *executor
	started time.Time
	called  bool
}

// begin starts a batch. Its budget runs from the first turn on.
func (x *executor) begin() *batch { return &batch{x: x} }

// turn calls the run's code until the run is quiet, blocked or cut. It does not call code when the batch has used its
// time up, nor while an abandoned call of the run is still under way.
func (b *batch) turn(req turnRequest) turnResult {
	if b.started.IsZero() {
		b.started = time.Now()
	}
	x := b.x
	switch {
	case x.stuck.has(req.run.Key):
		return turnResult{outcome: history.BlockedOutcome(req.run, history.BlockBudget,
			"an earlier call of the workflow function has not returned in this process", req.now, x.limits)}
	case x.stuck.full(req.code.spec.Name), b.called && time.Since(b.started) >= x.batchBudget:
		return turnResult{dropped: true}
	}
	b.called = true
	t, err := history.NewTurn(req.state, req.run, req.now, x.limits, req.rejected)
	if err != nil {
		return turnResult{outcome: history.BlockedOutcome(req.run, history.BlockHistory, err.Error(), req.now, x.limits)}
	}
	return x.drive(t, req)
}

// drive runs the calls of one turn.
func (x *executor) drive(t *history.Turn, req turnRequest) turnResult {
	began := time.Now()
	a := startAuthor(x, req)
	for round := 0; t.Next(); round++ {
		if x.fromTop && round > 0 {
			a.leave()
			a = startAuthor(x, req)
		}
		ans, ok := x.round(a, t, round)
		if !ok {
			a.leave()
			return turnResult{dropped: true, block: ans.block}
		}
		if ans.block != nil {
			t.Block(ans.block.cause, ans.block.diagnosis)
			break
		}
		t.Decide(history.Decision{Commands: ans.decision.commands})
		if time.Since(began) > x.batchBudget/2 {
			t.Cut()
		}
	}
	a.leave()
	if b := a.faulted(); b != nil {
		t.Block(b.cause, b.diagnosis)
	}
	return turnResult{outcome: t.Finish()}
}

// round makes one call, or two where the first round of a turn is checked for deciding alike. It reports false when a
// call was abandoned.
func (x *executor) round(a *author, t *history.Turn, round int) (answer, bool) {
	ans, ok := a.call(t.State(), t.Now())
	if !ok || ans.block != nil {
		return ans, ok
	}
	if x.dev && round == 0 {
		second := startAuthor(x, a.req) // the first may wait in Turn.Next
		again, ok := second.call(t.State(), t.Now())
		second.leave()
		if !ok || again.block != nil {
			return again, ok
		}
		if diff := differs(ans.decision, again.decision); diff != "" {
			return answer{block: &block{history.BlockNonDeterminism, diff}}, true
		}
	}
	if err := x.grant(t.State(), ans.decision.commands); err != nil {
		return answer{block: &block{history.BlockDecision, err.Error()}}, true
	}
	return ans, true
}

// grant mints a token for every hook that the decision opens and the host gave none for.
func (x *executor) grant(st *history.State, commands []history.Command) error {
	for _, c := range commands {
		hook, ok := c.(*history.CreateHook)
		if !ok || len(hook.HostDigests) > 0 || st.KnowsHook(hook.ID) {
			continue
		}
		nonce, err := tokens.NewNonce(x.random)
		if err != nil {
			return fmt.Errorf("mint a token: %w", err)
		}
		m := x.keys.Mint(binding(st.Key(), hook.ID), nonce)
		digestKey, digest := x.keys.Digest(m.Token)
		hook.Grant = history.TokenGrant{
			Digest: history.TokenDigest(digest), DigestKey: digestKey, MintKey: m.KeyID, Nonce: m.Nonce[:],
		}
	}
	return nil
}

// differs words how two decisions on one state differ; it is empty when they are equal.
func differs(first, second Decision) string {
	a, b := history.Decision{Commands: first.commands}, history.Decision{Commands: second.commands}
	if a.Equal(b) {
		return ""
	}
	if len(first.commands) != len(second.commands) {
		return fmt.Sprintf("called twice on the same state, the function decided %d commands and then %d",
			len(first.commands), len(second.commands))
	}
	for i := range first.commands {
		one, two := history.Decision{Commands: first.commands[i : i+1]}, history.Decision{Commands: second.commands[i : i+1]}
		if !one.Equal(two) {
			return fmt.Sprintf("called twice on the same state, the function decided otherwise: command %d was %s and then %s",
				i+1, describe(first.commands[i]), describe(second.commands[i]))
		}
	}
	return "called twice on the same state, the function decided otherwise"
}
