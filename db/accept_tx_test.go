package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
)

func (r *acceptRig) begin() pgx.Tx {
	r.t.Helper()
	tx, err := r.pool.Begin(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func verdicts(answers []Answer) (out []string) {
	for _, a := range answers {
		out = append(out, fmt.Sprint(a.Receipt.Verdict, a.Err))
	}
	return out
}

// The host's commit and rollback decide, over its own rows and ours together. Run need not be under way.
func TestAcceptTxFollowsTheHost(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprint("commit ", commit), func(t *testing.T) {
			t.Parallel()
			r := newAcceptRig(t)
			r.sql(`create table orders (id int primary key)`)
			tx := r.begin()
			if _, err := tx.Exec(t.Context(), `insert into orders values (1)`); err != nil {
				t.Fatal(err)
			}
			answers, err := r.AcceptTx(t.Context(), tx, []history.Message{
				r.startOf("b"), r.signal("b", "s1", "1"), r.startOf("a"), r.signal("b", "s1", "1"), r.signal("b", "s1", "2"),
				r.signal("nobody", "s1", "1"),
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{
				"accepted<nil>", "accepted<nil>", "accepted<nil>", "duplicate<nil>",
				"signal ID was accepted with another payload", "run not found",
			}
			if diff := cmp.Diff(want, verdicts(answers)); diff != "" {
				t.Error(diff)
			}
			again, err := r.AcceptTx(t.Context(), tx, []history.Message{r.signal("b", "s2", "1"), r.startOf("b")})
			if diff := cmp.Diff([]string{"accepted<nil>", "duplicate<nil>"}, verdicts(again)); err != nil || diff != "" {
				t.Error(err, diff)
			}
			rows := 0
			if commit {
				err, rows = tx.Commit(t.Context()), 5
			} else {
				err = tx.Rollback(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := value[int](r, `select (select count(*) from events) + (select count(*) from orders)`); n != rows {
				t.Errorf("%d events and orders, want %d", n, rows)
			}
			r.consistent()
		})
	}
}

func TestAcceptTxLeavesSettingsAlone(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	tx := r.begin()
	settings := func() (s [6]string) {
		err := tx.QueryRow(t.Context(), `select current_setting('lock_timeout'), current_setting('enable_hashjoin'),
			current_setting('enable_mergejoin'), current_setting('statement_timeout'), current_setting('enable_seqscan'),
			current_setting('jit')`).Scan(&s[0], &s[1], &s[2], &s[3], &s[4], &s[5])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := tx.Exec(t.Context(), `set local lock_timeout = '7s'; set local statement_timeout = '9s'`); err != nil {
		t.Fatal(err)
	}
	before := settings()
	if _, err := r.AcceptTx(t.Context(), tx, []history.Message{r.startOf("a")}); err != nil {
		t.Fatal(err)
	}
	if after := settings(); after != before {
		t.Errorf("settings %v became %v", before, after)
	}
	bad := r.signal("a", "s1", "1")
	bad.Actor = "\x00"
	if _, err := r.AcceptTx(t.Context(), tx, []history.Message{bad}); !isInvalid(err) {
		t.Errorf("poison: %v", err)
	}
	if after := settings(); after != before {
		t.Errorf("after an error settings %v became %v", before, after)
	}
}

// errorsOf is how many errors of a class are counted.
func errorsOf(s *Store, class string) (n int64) {
	for _, c := range s.Stats().Errors {
		if c.Labels[0] == class {
			n += c.Times
		}
	}
	return n
}

// A lock that cannot be had voids the call, not the host's transaction.
func TestAcceptTxLockTimeout(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, func(c *Config) { c.LockTimeout = 100 * time.Millisecond })
	setUp := r.begin()
	if _, err := r.AcceptTx(t.Context(), setUp, []history.Message{r.startOf("a"), r.startOf("b")}); err != nil {
		t.Fatal(err)
	}
	if err := setUp.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	release := r.hold("b")
	tx := r.begin()
	_, err := r.AcceptTx(t.Context(), tx, []history.Message{r.startOf("c"), r.signal("a", "s1", "1"), r.signal("b", "s1", "1")})
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("%v, want ErrUnavailable", err)
	}
	if n := errorsOf(r.Store, errorLock); n != 1 {
		t.Errorf("%d locks that could not be had are counted, want 1", n)
	}
	if _, err := r.AcceptTx(t.Context(), tx, []history.Message{r.signal("a", "s2", "2")}); err != nil {
		t.Errorf("the host's transaction does not go on: %v", err)
	}
	release()
	if _, err := r.AcceptTx(t.Context(), tx, []history.Message{r.signal("b", "s1", "1")}); err != nil {
		t.Errorf("after the release: %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := value[[]string](r, `select array_agg(run_id || ':' || signal_id order by run_id, signal_id)
		from signals s join runs r on r.id = s.run`)
	if diff := cmp.Diff([]string{"a:s2", "b:s1"}, got); diff != "" {
		t.Error(diff)
	}
	if value[bool](r, `select exists (select from runs where run_id = 'c')`) {
		t.Error("a start of the voided call is stored")
	}
	r.consistent()
}

func TestAcceptTxWithoutAuthorityChangesNothing(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	tx := r.begin()
	strange := r.startOf("strange")
	strange.SpecDigest = strangeSpec
	if _, err := r.AcceptTx(t.Context(), tx, []history.Message{strange}); err != nil {
		t.Fatal(err)
	}
	_, err := r.AcceptTx(t.Context(), tx, []history.Message{r.startOf("a"), r.signal("strange", "s1", "1")})
	if missing, ok := errors.AsType[*AuthorityMissingError](err); !ok || missing.Digest != strangeSpec {
		t.Errorf("%v, want the digest that is missing", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := value[int](r, `select count(*) from events`); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestAcceptTxOfAFailedTransaction(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	tx := r.begin()
	if _, err := tx.Exec(t.Context(), `select 1/0`); err == nil {
		t.Fatal("no error")
	}
	_, err := r.AcceptTx(t.Context(), tx, []history.Message{r.startOf("a")})
	if _, ok := errors.AsType[*DatabaseError](err); !ok {
		t.Errorf("%v, want a *DatabaseError", err)
	}
	if answers, err := r.AcceptTx(t.Context(), tx, nil); answers != nil || err != nil {
		t.Errorf("no messages: %v, %v", answers, err)
	}
}

// Calls of two hosts lock in one order, whatever the order of their messages, and so do accept lanes beside them.
func TestAcceptTxDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.LockTimeout = 30 * time.Second; c.Lanes = 2 })
	const runs, rounds = 6, 15
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("run-", i)))
	}
	host := func(name string, backwards bool) error {
		for round := range rounds {
			var ms []history.Message
			for i := range runs {
				if backwards {
					i = runs - 1 - i
				}
				ms = append(ms, r.signal(fmt.Sprint("run-", i), fmt.Sprint(name, round), "1"), r.startOf(fmt.Sprint("new-", round, "-", i)))
			}
			tx, err := r.pool.Begin(context.Background())
			if err != nil {
				return err
			}
			if _, err := r.AcceptTx(context.Background(), tx, ms); err != nil {
				return errors.Join(err, errors.Unwrap(err), tx.Rollback(context.Background()))
			}
			if err := tx.Commit(context.Background()); err != nil {
				return err
			}
		}
		return nil
	}
	done := make(chan error, 2)
	go func() { done <- host("up", false) }()
	go func() { done <- host("down", true) }()
	for round := range rounds {
		for i := range runs {
			r.ok(r.signal(fmt.Sprint("run-", i), fmt.Sprint("lane", round), "1"))
		}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := value[int](r, `select count(*) from signals`); n != 3*runs*rounds {
		t.Errorf("%d signals, want %d", n, 3*runs*rounds)
	}
	r.consistent()
}
