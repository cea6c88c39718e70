package db

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
)

func audited(c *Config) { c.Audit = true }

// trailRows are the entries of the trail, in words.
func (r *acceptRig) trailRows() []string {
	r.t.Helper()
	return value[[]string](r, `select coalesce(array_agg(concat_ws(' ', run_id, kind, name, identity, seq, verdict, actor, method) order by id), '{}') from audit`)
}

func TestAuditKeepsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	r := running(t, audited)
	r.ok(r.startOf("a"))
	r.hook("a", "h", nil)
	for range 2 { // what is repeated changes nothing, and is not in the trail
		r.ok(r.signal("a", "s1", "1"))
		r.ok(r.update("a", "u1", "1"))
		r.ok(r.resume("a", "h", "1"))
		r.ok(r.signalAndStart("b", "s1", "1"))
		r.ok(r.signalAndStart("a", "s2", "1"))
		r.ok(&history.RetryRun{Run: keyOf("b")}) // it is not blocked
		r.ok(&history.CancelRun{Run: keyOf("a"), Actor: "bob"})
	}
	if _, err := r.Accept(t.Context(), r.signal("a", "s1", "2")); err == nil {
		t.Error("another signal of the ID was accepted")
	}
	want := []string{
		"a start invoice a 1 accepted ada host", "a signal approved s1 2 accepted ada host", "a update approved u1 3 accepted ada host",
		"a hook_resume h h 4 accepted ada host", "b start invoice b 1 accepted ada host", "b signal approved s1 2 accepted ada host",
		"a signal approved s2 5 accepted ada host", "a cancel 6 accepted bob host",
	}
	if diff := cmp.Diff(want, strip(r.trailRows())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := value[int](r, `select count(*) from audit a join runs r on r.id = a.run and r.run_id = a.run_id join events e on e.run = a.run and e.seq = a.seq and e.at = a.at`); n != len(want) {
		t.Errorf("%d of %d entries are at the time of their event", n, len(want))
	}
	if n := value[int](r, `select count(*) from audit a join signals s on s.run = a.run and s.seq = a.seq and s.digest = a.payload_digest`); n != 3 {
		t.Errorf("the digests of %d signals are right", n)
	}
}

// strip joins what empty texts have left apart.
func strip(rows []string) []string {
	for i := range rows {
		rows[i] = strings.Join(strings.Fields(rows[i]), " ")
	}
	return rows
}

func TestNoAuditIsKeptWhereNoneIsAskedFor(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.ok(r.signal("a", "s1", "1"))
	if err := r.Audit(t.Context(), AuditEntry{Namespace: "default", Kind: AuditTokenMinted}); err != nil {
		t.Error(err)
	}
	if rows := r.trailRows(); len(rows) != 0 {
		t.Errorf("it has %v", rows)
	}
}

func TestAuditHasTheTrailOfTheCaller(t *testing.T) {
	t.Parallel()
	r := running(t, audited)
	shown := bytes.Repeat([]byte{7}, 32)
	ctx := WithTrail(t.Context(), Trail{
		Method: "jwt", Credential: "key-1", Actor: "eve", RequestID: "req\x00-\n1", Trace: "00-ab-cd-01", Peer: "192.0.2.0/24", SubjectDigest: shown,
	})
	start := r.startOf("a")
	start.Actor = ""
	if _, err := r.Accept(ctx, start); err != nil {
		t.Fatal(err)
	}
	if got := value[string](r, `select concat_ws('|', method, credential, actor, request_id, trace, peer, encode(subject_digest, 'hex')) from audit`); got !=
		"jwt|key-1|eve|req-1|00-ab-cd-01|192.0.2.0/24|"+strings.Repeat("07", 32) {
		t.Errorf("it has %s", got)
	}
	hostile := strings.Repeat("ä\x1b[31m\xff", 1000)
	ctx = WithTrail(t.Context(), Trail{Method: hostile, Credential: hostile, Actor: hostile, RequestID: hostile, Trace: hostile, Peer: hostile, SubjectDigest: []byte("short")})
	if _, err := r.Accept(ctx, r.signal("a", "s", "1")); err != nil {
		t.Fatal(err)
	}
	if n := value[int](r, `select count(*) from audit where seq = 2 and octet_length(trace) between 1 and 255 and trace !~ '[[:cntrl:]]' and subject_digest is null`); n != 1 {
		t.Error("a hostile trail is stored as it came")
	}
}

// Two processes send the same and other messages to the same runs, so that each is wrong again and again about what it
// knows: the trail has each accepted message once, under its own sequence, and nothing else.
func TestAuditHasOneEntryForEachReceipt(t *testing.T) {
	t.Parallel()
	r := running(t, audited)
	second := r.open(r.pool, audited)
	r.start(second)
	const runs = 5
	for run := range runs {
		r.ok(r.startOf(fmt.Sprint("r", run)))
		r.hook(fmt.Sprint("r", run), "h", nil)
	}
	var mu sync.Mutex
	var accepted []string
	for run := range runs {
		accepted = append(accepted, fmt.Sprint("start r", run, " 1"))
	}
	var work sync.WaitGroup
	for i, s := range []*Store{r.Store, second, r.Store, second} {
		work.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 150 {
				m := r.anyMessage(random, runs)
				receipt, err := s.Accept(context.Background(), m)
				if err != nil || receipt.Verdict != history.Accepted {
					continue
				}
				e, _ := MessageEntry(m)
				mu.Lock()
				if receipt.StartedFresh {
					accepted = append(accepted, fmt.Sprint("start ", e.RunID, " 1"))
				}
				accepted = append(accepted, fmt.Sprint(e.Kind, " ", e.RunID, " ", receipt.Sequence))
				mu.Unlock()
			}
		})
	}
	work.Wait()
	got := value[[]string](r, `select array_agg(concat_ws(' ', kind, run_id, seq)) from audit`)
	if diff := cmp.Diff(counts(accepted), counts(got)); diff != "" {
		t.Errorf("(-accepted +trail)\n%s", diff)
	}
	if n := value[string](r, `select coalesce(string_agg(a.kind || ' ' || coalesce((select e.type from events e where e.run = a.run and e.seq = a.seq), 'none'), ','), '') from audit a where not exists (select from events e where e.run = a.run and e.seq = a.seq and e.at = a.at
		and e.type = case a.kind when 'start' then 'run.started' when 'signal' then 'signal.received' when 'update' then 'update.received'
			when 'hook_resume' then 'hook.resumed' when 'hook_dispose' then 'hook.disposed' else 'run.cancel_requested' end)`); n != "" {
		t.Errorf("these are not of their events: %s", n)
	}
}

// anyMessage is one of few, so that many repeat each other.
func (r *acceptRig) anyMessage(random *rand.Rand, runs int) history.Message {
	run, id := fmt.Sprint("r", random.IntN(runs)), fmt.Sprint("m", random.IntN(40))
	switch n := random.IntN(100); {
	case n < 60:
		return r.signal(run, id, fmt.Sprint(random.IntN(2)))
	case n < 75:
		return r.update(run, id, "1")
	case n < 80:
		return r.resume(run, "h", fmt.Sprint(random.IntN(2)))
	case n < 83:
		return &history.DisposeHook{Run: keyOf(run), HookID: "h"}
	case n < 90:
		return r.startOf(fmt.Sprint("n", random.IntN(20)))
	case n < 98:
		return r.signalAndStart(fmt.Sprint("n", random.IntN(20)), id, "1")
	}
	return &history.CancelRun{Run: keyOf(fmt.Sprint("n", random.IntN(20)))}
}

func counts(list []string) map[string]int {
	n := map[string]int{}
	for _, s := range list {
		n[s]++
	}
	return n
}

func TestAuditInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, audited)
	ctx := WithTrail(t.Context(), Trail{Method: "open"})
	for _, commit := range []bool{false, true} {
		tx := r.begin()
		if _, err := r.AcceptTx(ctx, tx, []history.Message{r.startOf("a"), r.startOf("b")}); err != nil {
			t.Fatal(err)
		}
		if commit {
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows := r.trailRows(); len(rows) != 0 {
			t.Errorf("of what was rolled back it has %v", rows)
		}
	}
	if diff := cmp.Diff([]string{"a start invoice a 1 accepted ada open", "b start invoice b 1 accepted ada open"}, strip(r.trailRows())); diff != "" {
		t.Error(diff)
	}
}

// Nobody changes the trail, and it loses rows only in a transaction that says so.
func TestTheAuditTrailOnlyGrows(t *testing.T) {
	t.Parallel()
	r := running(t, audited)
	r.ok(r.startOf("a"))
	for _, change := range []string{
		`update audit set actor = 'nobody'`, `delete from audit`, `truncate audit`, `delete from audit where false`,
		`begin; set local flowgate.retention = on; update audit set actor = 'nobody'; commit`,
		`begin; set local flowgate.retention = on; truncate audit; commit`,
	} {
		if !r.refuses(change) {
			t.Errorf("%s is not refused", change)
		}
	}
	if len(r.trailRows()) != 1 {
		t.Fatal("the trail has changed")
	}
	if r.refuses(`begin; set local flowgate.retention = on; delete from audit; commit`) {
		t.Error("what is too old cannot go")
	}
	if !r.refuses(`delete from audit`) {
		t.Error("the permission outlives its transaction")
	}
}

// What repeats a message of the same batch is not in the trail, whether the batch was decided before the lock or under it.
func TestAuditHasNoDuplicatesOfABatch(t *testing.T) {
	t.Parallel()
	r := running(t, audited, func(c *Config) { c.Takes = func(Code) bool { return true } })
	conflict := func(id string) history.Message { return r.signal("a", id, "2") }
	r.lane(r.Store, r.startOf("a"), r.signal("a", "s1", "1"), r.signal("a", "s1", "1"), conflict("s1"), r.startOf("a"))
	r.turnOn(r.Store, "a", counting(9))
	if _, known := r.records.get(keyOf("a")); !known {
		t.Fatal("the run is not known")
	}
	r.lane(r.Store, r.signal("a", "s2", "1"), r.signal("a", "s2", "1"), conflict("s2"), r.signal("a", "s3", "1"))
	want := []string{"a start a", "a signal s1", "a signal s2", "a signal s3"}
	got := value[[]string](r, `select array_agg(run_id || ' ' || kind || ' ' || identity order by id) from audit`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
