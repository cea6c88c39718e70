package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// statementNames counts the named statements of a pool.
type statementNames struct {
	mu sync.Mutex
	n  map[string]int
}

func (s *statementNames) note(sql string) {
	if rest, ok := strings.CutPrefix(sql, "-- name: "); ok {
		name, _, _ := strings.Cut(rest, " ")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n[name]++
	}
}

// namedStatements is a pool whose statements are counted.
func namedStatements(t testing.TB, cfg *pgxpool.Config) (*pgxpool.Pool, *statementNames) {
	t.Helper()
	names := &statementNames{n: map[string]int{}}
	cfg.ConnConfig.Tracer = names
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, names
}

// count is how often a statement was sent.
func (s *statementNames) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n[name]
}

// take returns what was counted since the last time.
func (s *statementNames) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.n
	s.n = map[string]int{}
	return n
}

func (s *statementNames) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.note(d.SQL)
	return ctx
}

func (s *statementNames) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statementNames) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statementNames) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	s.note(d.SQL)
}

func (s *statementNames) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// question waits for one signal and completes with it.
var question = workflow{
	spec.WorkflowSpec{Name: "ask", Version: "1", Signals: []spec.Signal{{Name: "go"}}},
	func(c *engine.Context) (engine.Decision, error) {
		answer, done, err := engine.SignalPayload[int](c, "w")
		if err != nil || !done {
			return c.WaitForSignal("w", "go"), err
		}
		return c.Complete(answer), nil
	},
}

// pollsNever makes a process that looks for due runs only when it is told to.
func pollsNever(t testing.TB, pool *pgxpool.Pool) engine.Config {
	t.Helper()
	cfg := testConfig(t, pool)
	cfg.PollInterval = 10 * patience
	return cfg
}

// A run that this process knows is moved on by one statement that stores the message and one that stores the turn: nothing
// is claimed, and nothing of the run is read.
func TestASignalToAParkedRunNeedsNoClaim(t *testing.T) {
	t.Parallel()
	pool, names := namedStatements(t, pgtest.New(t).Config())
	r := idle(t, pollsNever(t, pool), question).run()
	const runs = 40
	for i := range runs {
		r.start(question, spec.RunID(fmt.Sprint("r", i)), nil)
	}
	for i := range runs {
		r.waiting(spec.RunID(fmt.Sprint("r", i)), "w")
	}
	names.take()
	began := time.Now()
	for i := range runs {
		run := spec.RunID(fmt.Sprint("r", i))
		r.mustSend(run, "s", "go", i)
		if got := r.completed(run); got != fmt.Sprint(i) {
			t.Errorf("%s completed with %s", run, got)
		}
	}
	n := names.take()
	if looks := int(time.Since(began)/time.Second) + 3; n["ClaimRuns"]+n["ClaimRun"] > looks {
		t.Errorf("%d runs took %d claims, want at most %d", runs, n["ClaimRuns"]+n["ClaimRun"], looks)
	}
	if n["SignalKnown"]+n["AcceptKnown"] != runs || n["AdvanceKnown"] < runs-3 || n["LockRuns"] != 0 || n["EventsFrom"] > 3 {
		t.Errorf("%d runs took the statements %v", runs, n)
	}
}

// hints hears what processes tell each other.
type hints struct {
	t    testing.TB
	conn *pgx.Conn
}

func (r *rig) hints() *hints {
	r.t.Helper()
	conn, err := pgx.ConnectConfig(r.ctx(), r.pool.Config().ConnConfig)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, channel := range []string{"flowgate_ready", "flowgate_ended", "mark"} {
		if _, err := conn.Exec(r.ctx(), "listen "+channel); err != nil {
			r.t.Fatal(err)
		}
	}
	return &hints{t: r.t, conn: conn}
}

// until counts the hints of one channel up to and with the first one of another.
func (h *hints) until(ctx context.Context, last, counted string) (n int) {
	h.t.Helper()
	for {
		got, err := h.conn.WaitForNotification(ctx)
		if err != nil {
			h.t.Fatalf("no hint on %s: %v", last, err)
		}
		if got.Channel == counted {
			n++
		}
		if got.Channel == last {
			return n
		}
	}
}

// Who moves its runs on itself tells nobody that they are due; who has not their code tells everybody.
func TestOnlyWhatOthersMoveOnIsHinted(t *testing.T) {
	t.Parallel()
	r := idle(t, pollsNever(t, pgtest.New(t)), question).run()
	r.start(question, "first", nil) // says that the process is under way
	r.waiting("first", "w")
	h := r.hints()
	for i := range 5 {
		run := spec.RunID(fmt.Sprint("r", i))
		r.start(question, run, nil)
		r.waiting(run, "w")
		r.mustSend(run, "s", "go", i)
		r.completed(run)
		if n := h.until(r.ctx(), "flowgate_ended", "flowgate_ready"); n != 0 {
			t.Errorf("%s: %d hints that something is due", run, n)
		}
	}
	gate := idle(t, pollsNever(t, r.pool)).run()
	if _, err := gate.SendSignal(r.ctx(), engine.SignalRequest{RunID: "first", SignalID: "s", Name: "go", Payload: []byte("7")}); err != nil {
		t.Fatal(err)
	}
	h.until(r.ctx(), "flowgate_ready", "")
	if got := r.completed("first"); got != "7" {
		t.Errorf("it completed with %s", got)
	}
}

// resting is another process that waits for hints and looks for nothing meanwhile.
func (r *rig) resting(w workflow) *rig {
	r.t.Helper()
	pool, names := namedStatements(r.t, r.pool.Config())
	other := idle(r.t, pollsNever(r.t, pool), w).run()
	for looks, still := -1, 0; still < 15; still++ {
		<-time.After(100 * time.Millisecond)
		var listens bool
		if err := r.pool.QueryRow(r.ctx(), `select count(*) > 1 from pg_stat_activity
			where datname = current_database() and query = 'listen flowgate_ended'`).Scan(&listens); err != nil {
			r.t.Fatal(err)
		}
		if n := names.count("ClaimRuns") + names.count("NextDue"); n != looks || !listens {
			looks, still = n, 0
		}
	}
	return other
}

// What a process was to move on itself and did not, because it ends, is told to others: one of them does it.
func TestWhatWasHandedOverIsDoneByAnotherProcess(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 1), make(chan struct{})
	slow := workflow{spec.WorkflowSpec{Name: "slow", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-release
		return c.Complete(nil), nil
	}}
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	cfg := pollsNever(t, pgtest.New(t))
	cfg.CallBudget, cfg.BatchBudget = time.Minute, time.Minute
	r := idle(t, cfg, question, slow).run()
	const runs = 5
	for i := range runs {
		r.start(question, spec.RunID(fmt.Sprint("r", i)), nil)
		r.waiting(spec.RunID(fmt.Sprint("r", i)), "w")
	}
	other := r.resting(question)
	r.start(slow, "slow", nil)
	<-entered // whoever moves runs on is busy
	for i := range runs {
		r.mustSend(spec.RunID(fmt.Sprint("r", i)), "s", "go", i)
	}
	var ended sync.WaitGroup
	ended.Go(r.stop)
	for i := range runs {
		run := spec.RunID(fmt.Sprint("r", i))
		if got := other.completed(run); got != fmt.Sprint(i) {
			t.Errorf("%s completed with %s", run, got)
		}
	}
	if s := other.snapshot("slow"); s.Status != engine.StatusRunning {
		t.Errorf("the process that ends was not busy all the time: %+v", s)
	}
	free()
	ended.Wait()
	if got := other.ended("slow"); got.Status != engine.StatusCompleted {
		t.Errorf("the turn under way was lost: %+v", got)
	}
}
