package db

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// hostWord is read when a statement of the host's own failed.
const hostWord = "the host's transaction failed"

const insertOrder = `insert into orders values ($1) on conflict do nothing`

// hostTransaction accepts the messages of batchOf and an order in a transaction of the host.
func hostTransaction(f *faultRig, s *Store, prefix string) (read []string) {
	ctx := context.Background()
	all := batchOf(f, prefix)
	every := func(word string) []string {
		for range all {
			read = append(read, word)
		}
		return read
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return every(hostWord)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	answers, err := s.AcceptTx(ctx, tx, all)
	if err != nil {
		return every(readingOf("", err))
	}
	if _, err := tx.Exec(ctx, insertOrder, at(prefix, "order")); err != nil {
		return every(hostWord)
	}
	if err := tx.Commit(ctx); err != nil {
		return every(hostWord)
	}
	for _, a := range answers {
		read = append(read, readingOf(a.Receipt.Verdict, a.Err))
	}
	return read
}

// hostWant says what the callers may read.
func hostWant(m met, c faultCall) []string {
	switch hosts := m.sql == "begin" || m.sql == insertOrder || isCommit(m.sql); {
	case m.kind == pgfault.Hold:
		return []string{c.first, c.again}
	case hosts:
		return []string{hostWord}
	case m.kind == pgfault.Refuse:
		return []string{refusedWith(m.state)}
	}
	return []string{unavailableWord}
}

// The host's rows and ours are there together or not at all.
func TestFaultAtEveryStatementOfAHostTransaction(t *testing.T) {
	t.Parallel()
	for part, ways := range map[string][]faultWay{
		"lost": lostWays, "late": lateWays, "refused": refusedWays("23514", "55P03", "42601"),
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			c := batchCase()
			c.act, c.want, c.whole, c.atLeast, c.ways = hostTransaction, hostWant, true, 17, ways
			testEveryStatement(t, c)
		})
	}
}

// What the database refuses of AcceptTx voids the call and nothing but it: the host's transaction goes on from before,
// under its own settings.
func TestTheHostGoesOnAfterAFault(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	for n := 1; f.hostGoesOn(n); n++ {
		if n > 80 {
			t.Fatal("a call takes too many statements")
		}
	}
	f.nothingLeft()
	f.someFolded()
}

// hostGoesOn has the nth statement of a call refused and the host go on. It reports whether there was such a statement.
func (f *faultRig) hostGoesOn(n int) bool {
	f.t.Helper()
	ctx, prefix := context.Background(), fmt.Sprint("n", n)
	f.prepare(prefix, faultMessages()...)
	want := f.runRows(prefix)
	tx, err := f.patient.pool.Begin(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	own := f.settings(tx)
	fault := f.breaker.At(n, pgfault.Refuse, "57014")
	_, err = f.patient.AcceptTx(ctx, tx, batchOf(f, prefix))
	f.breaker.Clear()
	switch {
	case !fault.Happened():
		if err != nil || n <= 15 {
			f.t.Errorf("it failed at %d statements: %v", n-1, err)
		}
		return false
	case readingOf("", err) != unavailableWord:
		f.t.Errorf("refused at %q: %v", title(fault.SQL()), err)
	}
	if strings.HasPrefix(fault.SQL(), "savepoint") { // there is nothing to go back to
		return true
	}
	if got := f.settings(tx); got != own {
		f.t.Errorf("refused at %q: settings %s, want %s", title(fault.SQL()), got, own)
	}
	if _, err := tx.Exec(ctx, insertOrder, at(prefix, "order")); err != nil {
		f.t.Errorf("refused at %q: the host cannot go on: %v", title(fault.SQL()), err)
	}
	if err := tx.Commit(ctx); err != nil {
		f.t.Errorf("refused at %q: the host cannot commit: %v", title(fault.SQL()), err)
	}
	want["order"] = "1"
	if diff := cmp.Diff(want, f.runRows(prefix)); diff != "" {
		f.t.Errorf("refused at %q: %s", title(fault.SQL()), diff)
	}
	return true
}

// settings are those of the transaction that AcceptTx changes for a moment.
func (f *faultRig) settings(tx pgx.Tx) (s string) {
	f.t.Helper()
	if err := tx.QueryRow(context.Background(), `select concat_ws(' ', current_setting('lock_timeout'),
		current_setting('enable_hashjoin'), current_setting('enable_mergejoin'), current_setting('enable_seqscan'),
		current_setting('jit'))`).Scan(&s); err != nil {
		f.t.Errorf("settings: %v", err)
	}
	return s
}
