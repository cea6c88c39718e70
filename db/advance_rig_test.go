package db

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// author is workflow code in the words of the core.
type author func(*history.State) history.Decision

var invoiceCode = []Code{{Workflow: "invoice", Version: "1"}}

func decide(commands ...history.Command) history.Decision {
	return history.Decision{Commands: commands}
}

func wait(id string) history.Command {
	return &history.OpenWait{ID: spec.WaitID(id), Signal: "approved"}
}

// approval waits for one signal and completes with its payload.
func approval(s *history.State) history.Decision {
	if status, answer := s.Wait("w"); status == history.WaitDone {
		return answering(s, &history.Complete{Output: answer})
	}
	return answering(s, wait("w"))
}

// answering adds to a decision the answers to all updates but those that ask to be left: their own argument, or a refusal.
func answering(s *history.State, commands ...history.Command) history.Decision {
	var all []history.Command
	for _, u := range s.Updates("approved") {
		switch string(u.Payload.Bytes()) {
		case `"leave"`:
		case `"refuse"`:
			all = append(all, &history.RejectUpdate{ID: u.UpdateID, Message: "not now"})
		default:
			all = append(all, &history.CompleteUpdate{ID: u.UpdateID, Output: u.Payload})
		}
	}
	return decide(append(all, commands...)...)
}

// counting waits for n signals, one wait each, and completes with null.
func counting(n int) author {
	return func(s *history.State) history.Decision {
		for i := range n {
			if status, _ := s.Wait(fmt.Sprint("w", i)); status != history.WaitDone {
				return decide(wait(fmt.Sprint("w", i)))
			}
		}
		return decide(&history.Complete{Output: null})
	}
}

var null = func() canon.Payload {
	p, err := canon.Parse([]byte("null"), canon.Limits{})
	if err != nil {
		panic(err)
	}
	return p
}()

func digestOf(token string) history.TokenDigest { return sha256.Sum256([]byte(token)) }

// hookOn is a hook with a host-supplied token.
func hookOn(id, token string) history.Command {
	return &history.CreateHook{
		ID: spec.HookID(id), Grant: history.TokenGrant{Digest: digestOf(token), DigestKey: "k1"},
		HostDigests: []history.TokenDigest{digestOf(token)},
	}
}

// by makes turns of workflow code.
func by(code author) Advance {
	return Advance{Codes: invoiceCode, Limit: 256, Decide: decideBy(code)}
}

func decideBy(code author) func(history.Run, *history.State, time.Time, map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
	return func(run history.Run, s *history.State, now time.Time, rejected map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		turn, err := history.NewTurn(s, run, now, history.DefaultLimits(), rejected)
		if err != nil {
			return history.BlockedOutcome(run, history.BlockHistory, err.Error(), now, history.DefaultLimits()), Commit
		}
		for turn.Next() {
			turn.Decide(code(turn.State()))
		}
		return turn.Finish(), Commit
	}
}

// advance runs one claim that must succeed.
func (r *acceptRig) advance(a Advance) Advanced {
	r.t.Helper()
	done, err := r.Advance(r.t.Context(), a)
	if err != nil {
		r.t.Fatalf("advance: %v", err)
	}
	return done
}

// drain advances until nothing is due.
func (r *acceptRig) drain(a Advance) {
	r.t.Helper()
	for range 1000 {
		if done := r.advance(a); done.Claimed == 0 && !done.Full {
			return
		}
	}
	r.t.Fatal("runs are due over and over")
}

// view reads a run that must exist.
func (r *acceptRig) view(run string) RunView {
	r.t.Helper()
	v, err := r.ReadRun(r.t.Context(), keyOf(run))
	if err != nil {
		r.t.Fatalf("run %s: %v", run, err)
	}
	return v
}

// types is the history of a run's generation, as the types of its events.
func (r *acceptRig) types(run string, generation int) string {
	r.t.Helper()
	events, err := r.History(r.t.Context(), keyOf(run), generation, 0, 1000)
	if err != nil {
		r.t.Fatalf("history of %s: %v", run, err)
	}
	var names []string
	for _, e := range events {
		names = append(names, string(e.Data.Type()))
	}
	return strings.Join(names, " ")
}

// due makes a run due as of some time ago.
func (r *acceptRig) due(run string, ago time.Duration) {
	r.t.Helper()
	r.sql(`update runs set wake_at = clock_timestamp() - $2::interval where run_id = $1`, run, ago)
}

// folded checks that the rows of a run are the fold of its events, and that the events are those the row counts.
func (r *acceptRig) folded(runs ...string) {
	r.t.Helper()
	r.consistent()
	for _, id := range runs {
		for _, d := range r.verified(VerifyQuery{Namespace: "default", Run: spec.RunID(id)}).Found {
			r.t.Error(d)
		}
	}
}

// calls counts turns by the run and the seq they began at.
type calls struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *calls) watch(a Advance) Advance {
	inner := a.Decide
	a.Decide = func(run history.Run, s *history.State, now time.Time, rejected map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		c.mu.Lock()
		if c.n == nil {
			c.n = map[string]int{}
		}
		c.n[fmt.Sprintf("%s@%d", run.Key.RunID, run.NextSeq)]++
		c.mu.Unlock()
		return inner(run, s, now, rejected)
	}
	return a
}

func (c *calls) of(run string, seq int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[fmt.Sprintf("%s@%d", run, seq)]
}

// only is an advance that decides the runs named here otherwise.
func only(run string, special, others author) Advance {
	return Advance{
		Codes: invoiceCode, Limit: 256,
		Decide: func(rec history.Run, s *history.State, now time.Time, rejected map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
			if rec.Key.RunID == spec.RunID(run) {
				return decideBy(special)(rec, s, now, rejected)
			}
			return decideBy(others)(rec, s, now, rejected)
		},
	}
}

// deadPool reaches no server.
func deadPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@/none?host="+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
