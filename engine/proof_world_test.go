package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/internal/proof"
	"github.com/flowgate-go/flowgate/tokens"
)

// mode says what engines do by themselves.
type mode int

const (
	claims    mode = iota // nothing: turns are taken and steps are begun when the test says so
	handsOver             // they advance at once what they made due themselves
	free                  // that, and they begin steps at once
)

// world is a database whose clock the test moves, with several engines on it.
type world struct {
	t    testing.TB
	pool *pgxpool.Pool // the test's own: its statements see the world's time
	keys *tokens.Keyring
	cfg  engine.Config

	mode             mode
	attempts         *proof.Attempts
	traces, releases int

	mu      sync.Mutex
	engines []*rig // the last one has no code
	broken  map[history.RunKey]string
}

// The world's time stands in a sequence, and every statement of the engine reads it in place of the server's clock: the
// schema comes before pg_catalog in the search path. While turns are held, no run seems to be due to a claim, and nobody
// is told of any. Which code lives, however, is a matter of real time: processes say so every ten seconds.
//
// Sequences, because their values are not those of a snapshot: a claim that waited for a row, and so judges a newer
// version of it than its snapshot has, must not judge it by an older time.
const worldSQL = `
create schema proof;
create sequence proof.micros start 1000000000; -- the clock may be set back
create sequence proof.held minvalue 0 start 0;
create sequence proof.idle minvalue 0 start 0;
select nextval('proof.micros'), nextval('proof.held'), nextval('proof.idle');
create function proof.clock_timestamp() returns timestamptz language plpgsql volatile as $$ begin
	return case when current_query() like '%workers%' then pg_catalog.clock_timestamp()
		else timestamptz '2026-01-02T03:04:05Z' + pg_sequence_last_value('proof.micros') * interval '1 microsecond' end;
end $$;
create function proof.statement_timestamp() returns timestamptz language plpgsql stable as $$ begin
	return case when pg_sequence_last_value('proof.held') = 1 and current_query() like '-- name: ClaimRun%'
			or pg_sequence_last_value('proof.idle') = 1 and current_query() ~ '^-- name: (Claim|Next)Task'
		then timestamptz '2000-01-01Z'
		else timestamptz '2026-01-02T03:04:05Z' + pg_sequence_last_value('proof.micros') * interval '1 microsecond' end;
end $$;
create function proof.pg_notify(channel text, payload text) returns void language plpgsql volatile as $$ begin
	if pg_sequence_last_value('proof.held') = 0 then
		perform pg_catalog.pg_notify(channel, payload);
	end if;
end $$;
create function proof.quiet() returns boolean language sql volatile as $$
	select not exists (select from runs where workflow = any('{proof.plain,proof.cooperative}')
		and wake_at <= statement_timestamp())
$$;
create function proof.settle(patience interval) returns boolean language plpgsql volatile as $$ begin
	while not proof.quiet() loop
		if pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + patience then
			return false;
		end if;
		perform pg_sleep(0.0003);
	end loop;
	perform setval('proof.held', 1);
	return true;
end $$;
` + stepSQL

// canary is a run whose code always fails. It shows when an engine that begins has made blocked runs due.
var canary = history.RunKey{Namespace: "canary-0", RunID: "canary"}

// newWorld makes a world of two engines with code and one without. Turns are held.
func newWorld(t testing.TB, cfg engine.Config, mode mode) *world {
	t.Helper()
	url := pgtest.URL(t)
	w := &world{
		t: t, mode: mode, attempts: &proof.Attempts{}, broken: map[history.RunKey]string{canary: "error"},
		keys: ringWith(t, proof.KeyID, "s"), cfg: cfg,
	}
	w.pool = w.connect(url, "proof")
	w.exec(worldSQL)
	w.cfg.Pool, w.cfg.Keys, w.cfg.PublicURL = w.connect(url, enginesName), w.keys, "https://flow.example.com"
	// The budgets are real time and decide where a turn is cut: out of reach.
	w.cfg.StepQueues = map[string]int{"narrow": 2}
	w.cfg.CallBudget, w.cfg.BatchBudget = time.Minute, time.Minute
	w.engines = []*rig{w.begin(true), w.begin(true), w.begin(false)}
	start := proof.Operation{Verb: proof.Start, Run: canary.RunID, Name: proof.Plain, Payload: "{}"}
	if a := w.do("canary", start); a.Verdict != engine.VerdictAccepted {
		t.Fatal(a)
	}
	w.until("blocked", "select status = 'blocked' from runs")
	w.exec("update runs set wake_at = null")
	w.hold()
	w.exec("select setval('proof.idle', $1)", min(1, int(free-mode)))
	w.unclaimed()
	return w
}

// enginesName is how the connections of engines are called.
const enginesName = "proof engines"

// connect makes a pool whose connections live in the world's time.
func (w *world) connect(url, name string) *pgxpool.Pool {
	w.t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.MaxConns = 12
	cfg.ConnConfig.RuntimeParams["search_path"] = "proof, pg_catalog, public"
	cfg.ConnConfig.RuntimeParams["application_name"] = name
	pool, err := pgxpool.NewWithConfig(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(pool.Close)
	return pool
}

// begin makes an engine and has it run, however often the database refuses it.
func (w *world) begin(coded bool) *rig {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		e, err := w.make(coded)
		if err == nil {
			return (&rig{Engine: e, t: w.t, pool: w.cfg.Pool}).run()
		}
		if !errors.Is(err, engine.ErrUnavailable) || time.Now().After(deadline) {
			w.t.Fatal(err)
		}
	}
}

func (w *world) make(coded bool) (*engine.Engine, error) {
	e, err := engine.New(w.t.Context(), w.cfg)
	if err != nil {
		return e, err
	}
	if w.mode == claims {
		e.ClaimOnly() // a turn that is decided while turns are held would be stored when they are not
	}
	if w.mode != free {
		e.ClaimTasks()
	}
	if err := w.registerSteps(e); err != nil || !coded {
		return e, err
	}
	for _, s := range proof.Specs() {
		if err := e.Register(s, w.code); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// engine gives one of the engines.
func (w *world) engine(i int) *rig {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engines[i]
}

// replace ends an engine and begins another, with a cold cache.
func (w *world) replace(i int) {
	w.t.Helper()
	w.engine(i).stop()
	next := w.begin(i < engineCount-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engines[i] = next
}

// engineCount is how many engines there are; the last one has no code.
const engineCount = 3

// restart is replace where it counts when: an engine with code makes blocked runs due before it does anything else. The
// canary tells that it did.
func (w *world) restart(i int) {
	w.t.Helper()
	if i == engineCount-1 {
		w.replace(i)
		return
	}
	w.exec("update runs set wake_at = clock_timestamp() + interval '1 year' where run_id = 'canary'")
	w.replace(i)
	w.until("woken", "select wake_at <= clock_timestamp() from runs where run_id = 'canary'")
	w.exec("update runs set wake_at = null where run_id = 'canary'")
}

// exec runs statements of the test's own.
func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) now() (now time.Time) {
	w.t.Helper()
	w.ask(&now, "select clock_timestamp()")
	return now.UTC()
}

// until asks a statement for true, for as long as it takes.
func (w *world) until(what, sql string) {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		var yes bool
		if w.ask(&yes, sql); yes {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("never %s", what)
		}
	}
}

// turns lets everything that is due run until nothing is, and then holds turns. The engines take turns in beginning.
func (w *world) turns() {
	w.t.Helper()
	var quiet bool
	if w.ask(&quiet, "select proof.quiet()"); quiet {
		return
	}
	w.release()
	w.nudgeUntil("quiet", func(e *rig) { e.Nudge() }, "select proof.settle($1)")
	w.unclaimed()
}

// nudgeUntil has engines look for what is due until a statement, which waits for a while, says that all is done. What is due
// is left to the hand-over for a moment while that is busy: for ever, as the clock stands.
func (w *world) nudgeUntil(what string, nudge func(*rig), sql string, args ...any) {
	w.t.Helper()
	w.releases++
	for n, end := 0, time.Now().Add(patience); ; n++ {
		if time.Now().After(end) {
			w.t.Fatalf("never %s", what)
		}
		nudge(w.engine((w.releases + n) % engineCount))
		var done bool
		if w.ask(&done, sql, append(args, 20*time.Millisecond)...); done {
			return
		}
	}
}

// unclaimed waits for claims that began before turns were held. As the world's time stands, what becomes due next may be due
// at the very instant at which something was that such a claim saw, which would pass for it.
func (w *world) unclaimed() {
	w.t.Helper()
	w.until("unclaimed", `select not exists (select from pg_stat_activity where datname = current_database()
		and application_name = '`+enginesName+`' and state = 'active' and query ~ '^-- name: (ClaimRun|ClaimTask|NextTask)')`)
}

func (w *world) hold()    { w.exec("select setval('proof.held', 1)") }
func (w *world) release() { w.exec("select setval('proof.held', 0)") }

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	w.exec("select setval('proof.micros', pg_sequence_last_value('proof.micros') + $1)", d.Microseconds())
}

// ask asks a statement for one value.
func (w *world) ask(value any, sql string, args ...any) {
	w.t.Helper()
	if err := w.pool.QueryRow(w.t.Context(), sql, args...).Scan(value); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// newTrace names a trace. What the one before left behind does nothing any more.
func (w *world) newTrace() string {
	w.traces++
	w.exec("update runs set wake_at = null where wake_at is not null")
	w.exec("delete from tasks")
	return fmt.Sprint("t", w.traces)
}

func (w *world) hostDigest(token string) history.TokenDigest {
	secret, err := tokens.ParseHost(token)
	if err != nil {
		w.t.Fatal(err)
	}
	_, d := w.keys.Digest(secret)
	return history.TokenDigest(d)
}

// ctx bounds one call.
func (w *world) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// refusalWords are those of a refusal, as the model says them.
func refusalWords(err error) string {
	var schema *engine.SchemaError
	if errors.As(err, &schema) {
		return proof.ErrSchema.Error()
	}
	return err.Error()
}
