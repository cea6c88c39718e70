package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// The specs of the accept tests: ordinary, cooperative, and one that is stored but that the authority does not know.
var (
	plainSpec   = canon.Digest(sha256.Sum256([]byte("plain")))
	coopSpec    = canon.Digest(sha256.Sum256([]byte("cooperative")))
	strangeSpec = canon.Digest(sha256.Sum256([]byte("strange")))
	absentSpec  = canon.Digest(sha256.Sum256([]byte("absent")))
)

// errShape is what the test authority says of a payload it does not like.
var errShape = errors.New("payload has not the declared shape")

// testAuthority declares the signal "approved" and refuses the payload false.
type testAuthority struct{ cooperative bool }

func (a testAuthority) CheckSignal(name string, p canon.Payload) error {
	if name != "approved" {
		return history.ErrSignalUndeclared
	}
	return a.CheckHook(name, p)
}

// CheckUpdate knows the same names as CheckSignal.
func (a testAuthority) CheckUpdate(name string, p canon.Payload) error {
	if name != "approved" {
		return history.ErrUpdateUndeclared
	}
	return a.CheckHook(name, p)
}

func (testAuthority) CheckHook(_ string, p canon.Payload) error {
	if bytes.Equal(p.Bytes(), []byte("false")) {
		return errShape
	}
	return nil
}

func (testAuthority) Hook(name string) spec.Hook {
	h := spec.Hook{Name: name, Audience: spec.Public, DisposableByToken: name == "disposable"}
	if name == "internal" {
		h.Audience = spec.Internal
	}
	return h
}

func (a testAuthority) CooperativeCancel() bool { return a.cooperative }

func testAuthorities(d canon.Digest) (history.Authority, bool) {
	switch d {
	case plainSpec:
		return testAuthority{}, true
	case coopSpec:
		return testAuthority{cooperative: true}, true
	}
	return nil, false
}

// acceptRig is a store on a database of its own, with the test specs stored.
type acceptRig struct {
	*Store
	t    testing.TB
	pool *pgxpool.Pool
}

// newAcceptRig opens a store without running it.
func newAcceptRig(t testing.TB, change ...func(*Config)) *acceptRig {
	t.Helper()
	return rigOn(t, pgtest.New(t), change...)
}

func rigOn(t testing.TB, pool *pgxpool.Pool, change ...func(*Config)) *acceptRig {
	t.Helper()
	r := &acceptRig{t: t, pool: pool}
	for _, d := range []canon.Digest{plainSpec, coopSpec, strangeSpec} {
		r.sql(`insert into specs (digest, document) values ($1, '{}')`, d[:])
	}
	r.Store = r.open(r.pool, change...)
	return r
}

func (r *acceptRig) open(pool *pgxpool.Pool, change ...func(*Config)) *Store {
	cfg := Config{Authority: testAuthorities}
	for _, f := range change {
		f(&cfg)
	}
	return Open(pool, cfg)
}

// running is newAcceptRig with Run under way until the test's end.
func running(t testing.TB, change ...func(*Config)) *acceptRig {
	t.Helper()
	r := newAcceptRig(t, change...)
	r.start(r.Store)
	return r
}

// start runs a store; stop, which the test's end calls too, ends it.
func (r *acceptRig) start(s *Store) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

func (r *acceptRig) sql(text string, args ...any) {
	r.t.Helper()
	if _, err := r.pool.Exec(context.Background(), text, args...); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
}

// value reads one value.
func value[T any](r *acceptRig, text string, args ...any) (v T) {
	r.t.Helper()
	if err := r.pool.QueryRow(context.Background(), text, args...).Scan(&v); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return v
}

// ok accepts a message that must not be refused.
func (r *acceptRig) ok(m history.Message) history.Receipt {
	r.t.Helper()
	receipt, err := r.Accept(r.t.Context(), m)
	if err != nil {
		r.t.Fatalf("%T: %v", m, err)
	}
	return receipt
}

// send accepts a message in the background.
func (r *acceptRig) send(m history.Message) <-chan Answer {
	return sendTo(r.Store, context.Background(), m)
}

func sendTo(s *Store, ctx context.Context, m history.Message) <-chan Answer {
	out := make(chan Answer, 1)
	go func() {
		receipt, err := s.Accept(ctx, m)
		out <- Answer{receipt, err}
	}()
	return out
}

// persist sends a message, and again while the store is too busy to take it.
func persist(s *Store, ctx context.Context, m history.Message) <-chan Answer {
	out := make(chan Answer, 1)
	go func() {
		for {
			receipt, err := s.Accept(ctx, m)
			if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
				out <- Answer{receipt, err}
				return
			}
		}
	}()
	return out
}

// line sends messages so that they arrive in their order, while the store does not run.
func (r *acceptRig) line(messages ...history.Message) []<-chan Answer {
	r.t.Helper()
	answers := make([]<-chan Answer, len(messages))
	for i, m := range messages {
		answers[i] = r.send(m)
		r.until("the message is in the queue", func() bool { return len(r.queue) == i+1 })
	}
	return answers
}

// await is an answer that must come soon.
func (r *acceptRig) await(answer <-chan Answer) Answer {
	r.t.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(20 * time.Second):
		r.t.Fatal("no answer")
		panic("unreachable")
	}
}

// until polls for a condition that nothing signals.
func (r *acceptRig) until(what string, cond func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// hold locks a run as another process would, until release.
func (r *acceptRig) hold(run string) (release func()) {
	r.t.Helper()
	tx, err := r.pool.Begin(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	tag, err := tx.Exec(context.Background(), `select from runs where run_id = $1 for update`, run)
	if err != nil || tag.RowsAffected() != 1 {
		r.t.Fatalf("lock %s: %v %v", run, tag, err)
	}
	release = sync.OnceFunc(func() { _ = tx.Rollback(context.Background()) })
	r.t.Cleanup(release)
	return release
}

// hook inserts an active hook as a turn would.
func (r *acceptRig) hook(run, id string, expires *time.Time) {
	r.t.Helper()
	digest := sha256.Sum256([]byte(run + "/" + id))
	r.sql(`insert into hooks (run, namespace, hook_id, name, metadata, token_digest, digest_key, state, created_at, expires_at)
		select id, namespace, $2, $2, '{}', $3, 'k1', 'active', now(), $4 from runs where run_id = $1`, run, id, digest[:], expires)
}

func keyOf(run string) history.RunKey {
	return history.RunKey{Namespace: "default", RunID: spec.RunID(run)}
}

func payload(t testing.TB, text string) canon.Payload {
	t.Helper()
	p, err := canon.Parse([]byte(text), canon.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (r *acceptRig) startOf(run string) *history.StartRun {
	return &history.StartRun{
		Run: keyOf(run), Workflow: "invoice", Version: "1", SpecDigest: plainSpec, Input: payload(r.t, `{"n":1}`), Actor: "ada",
	}
}

func (r *acceptRig) signal(run, id, text string) *history.SendSignal {
	return &history.SendSignal{
		Run: keyOf(run), ID: spec.SignalID(id), Name: "approved", Payload: payload(r.t, text), Source: "test", Actor: "ada",
	}
}

func (r *acceptRig) update(run, id, text string) *history.SendUpdate {
	return &history.SendUpdate{
		Run: keyOf(run), ID: spec.UpdateID(id), Name: "approved", Payload: payload(r.t, text), Source: "test", Actor: "ada",
	}
}

func (r *acceptRig) updateAndStart(run, id, text string) *history.StartWith {
	return &history.StartWith{Start: r.startOf(run), Send: r.update(run, id, text)}
}

func (r *acceptRig) signalAndStart(run, id, text string) *history.StartWith {
	return &history.StartWith{Start: r.startOf(run), Send: r.signal(run, id, text)}
}

func (r *acceptRig) resume(run, id, text string) *history.ResumeHook {
	return &history.ResumeHook{Run: keyOf(run), HookID: spec.HookID(id), Payload: payload(r.t, text), Actor: "ada"}
}

// consistent checks that the rows of every run agree with its events: no gap, no double, no lost signal; and that the
// schedule is that of the runs.
func (r *acceptRig) consistent() {
	r.t.Helper()
	for what, query := range map[string]string{
		"runs whose next_seq is not behind their events": `select count(*) from runs r
			where r.next_seq <> 1 + (select count(*) from events e where e.run = r.id)
			or r.next_seq <> 1 + coalesce((select max(seq) from events e where e.run = r.id), 0)`,
		"signals without their event": `select count(*) from signals s where not exists (
			select from events e where e.run = s.run and e.seq = s.seq and e.type = 'signal.received' and e.at = s.received_at)`,
		"signal events without a signal": `select count(*) from events e where e.type = 'signal.received'
			and not exists (select from signals s where s.run = e.run and s.seq = e.seq)`,
		"runs with another backlog than unread signals": `select count(*) from runs r
			where r.backlog <> (select count(*) from signals s where s.run = r.id and s.consumed_by is null)`,
		"updates without the event that they say": `select count(*) from updates u where not exists (
			select from events e where e.run = u.run and e.seq = u.seq and e.type = 'update.received' and e.at = u.received_at)
			or u.state <> 'open' and not exists (select from events e where e.run = u.run and e.seq = u.resolved_seq
				and e.type = 'update.' || u.state and e.at = u.resolved_at)`,
		"events of updates without an update": `select count(*) from events e where e.type like 'update.%'
			and not exists (select from updates u where u.run = e.run and e.seq in (u.seq, u.resolved_seq))`,
		"open updates of ended runs": `select count(*) from updates u join runs r on r.id = u.run
			where u.state = 'open' and r.closed_at is not null`,
		"events before their predecessor": `select count(*) from events a join events b
			on b.run = a.run and b.seq = a.seq + 1 where b.at < a.at`,
		"runs that started at another time than their first event": `select count(*) from runs r join events e
			on e.run = r.id and e.seq = 1 where r.started_at <> e.at`,
		"runs or entries of the schedule that differ": `select count(*) from due d full join runs r
			on r.id = d.run and r.workflow = d.workflow and r.version = d.version and r.wake_at = d.wake_at
			and d.blocked = (r.status = 'blocked')
			where r.id is null or d.run is null and r.wake_at is not null`,
	} {
		if n := value[int](r, query); n != 0 {
			r.t.Errorf("%d %s", n, what)
		}
	}
}

// messagesTo is n different signals to a run.
func (r *acceptRig) messagesTo(run string, n int) (ms []history.Message) {
	for i := range n {
		ms = append(ms, r.signal(run, fmt.Sprintf("s%03d", i), fmt.Sprint(i)))
	}
	return ms
}
