package db

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
)

// statementLog notes the statements of a pool, with their arguments.
type statementLog struct {
	mu    sync.Mutex
	names []string
	args  [][]any
	trips int // pipelines that were sent
}

func (l *statementLog) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trips++
	return ctx
}

func (l *statementLog) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	l.note(data.SQL, data.Args)
}

func (l *statementLog) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (l *statementLog) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	l.note(data.SQL, data.Args)
	return ctx
}

func (l *statementLog) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (l *statementLog) note(sql string, args []any) {
	name := sql
	if rest, ok := strings.CutPrefix(sql, "-- name: "); ok {
		name, _, _ = strings.Cut(rest, " ")
	} else {
		name, _, _ = strings.Cut(name, " ")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names, l.args = append(l.names, name), append(l.args, args)
}

// take returns what was noted since the last time.
func (l *statementLog) take() (names []string, args [][]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	names, args, l.names, l.args = l.names, l.args, nil, nil
	return names, args
}

// traced is a store of its own on the rig's database, whose statements are noted.
func (r *acceptRig) traced(log *statementLog, change ...func(*Config)) *Store {
	r.t.Helper()
	cfg := r.pool.Config()
	cfg.ConnConfig.Tracer = log
	pool, err := pgxpool.NewWithConfig(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(pool.Close)
	return r.open(pool, change...)
}

// An idle claim reads the tables by one statement, and the statements of a busy one do not grow with its runs.
func TestStatementsOfAClaim(t *testing.T) {
	t.Parallel()
	r := running(t)
	log := &statementLog{}
	s := r.traced(log)
	step := func(want ...string) {
		t.Helper()
		log.take()
		if _, err := s.Advance(t.Context(), by(approval)); err != nil {
			t.Fatal(err)
		}
		names, _ := log.take()
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
	}
	step("begin", "SetTimeouts", "ClaimRuns", "rollback")
	for i := range 30 {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	step("begin", "SetTimeouts", "ClaimRuns", "Clock", "EventsFrom", "AppendEvents", "UpdateRuns", "Unschedule", "commit")
	for i := range 30 {
		r.ok(r.signal(fmt.Sprint("r", i), "s1", "1"))
	}
	step("begin", "SetTimeouts", "ClaimRuns", "Clock", "EventsFrom", "AppendEvents", "ConsumeSignals", "UpdateRuns", "Unschedule", "commit")
	step("begin", "SetTimeouts", "ClaimRuns", "rollback")
}

// Hooks of any number of runs take one round trip, whatever keys are loaded; two more when a token is taken. What others
// may wait for is taken in order.
func TestStatementsOfHooks(t *testing.T) {
	t.Parallel()
	r := running(t)
	log := &statementLog{}
	s := r.traced(log)
	n := 0
	step := func(code author, trips int, want ...string) {
		t.Helper()
		for range 10 {
			n++
			r.ok(r.startOf(fmt.Sprint("r", n)))
		}
		log.take()
		log.trips = 0
		if done, err := s.Advance(t.Context(), by(code)); err != nil || done.Committed != 10 {
			t.Fatalf("%+v %v", done, err)
		}
		names, args := log.take()
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		for i, name := range names {
			if name == "InsertHooks" && !slices.IsSortedFunc(args[i][6].([][]byte), bytes.Compare) ||
				name == "LockTokens" && !slices.IsSorted(args[i][0].([]int32)) {
				t.Errorf("%s does not go in the order in which all wait", name)
			}
		}
		if log.trips != trips {
			t.Errorf("%d round trips, want %d", log.trips, trips)
		}
	}
	own := func(keys ...string) author {
		return func(s *history.State) history.Decision {
			return decide(hookUnder("h", string(s.Key().RunID), keys...))
		}
	}
	step(own("k1"), 4, "begin", "SetTimeouts", "ClaimRuns", "Clock", "EventsFrom", "savepoint", "InsertHooks",
		"AppendEvents", "UpdateRuns", "Unschedule", "commit")
	step(own("k2", "k1"), 4, "begin", "SetTimeouts", "ClaimRuns", "Clock", "EventsFrom", "savepoint", "LockTokens", "TokenOwners",
		"InsertHooks", "AppendEvents", "UpdateRuns", "Unschedule", "commit")
	step(claims(hookUnder("h", "r1", "k1")), 6, "begin", "SetTimeouts", "ClaimRuns", "Clock", "EventsFrom", "savepoint", "InsertHooks",
		"TokenOwners", "rollback", "EventsFrom", "AppendEvents", "UpdateRuns", "Unschedule", "commit")
}
