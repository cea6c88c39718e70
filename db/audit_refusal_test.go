package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// refusal is one that is told apart by its identity.
func refusal(id string) AuditEntry {
	return AuditEntry{Namespace: "default", RunID: "a", Kind: AuditSignal, Identity: id, Verdict: history.Gone, Why: "run_ended"}
}

// Refusals are bounded while nobody writes them: what finds no room is lost and counted, and nobody waits. Who ends the store
// waits until the others are written.
func TestRefusalsAreBoundedAndWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newAcceptRig(t, audited, func(c *Config) { c.Log = zerolog.New(&log) })
	r.sql(`insert into runs (namespace, run_id, workflow, version, spec_digest, input_digest, started_at, updated_at)
		values ('default', 'a', 'w', '1', $1, $1, now(), now())`, plainSpec[:])
	ctx := WithTrail(t.Context(), Trail{Method: "jwt"})
	for i := range refusalRoom + 7 {
		r.AuditRefusal(ctx, refusal(fmt.Sprint(i)))
	}
	if n := r.AuditLost(); n != 7 {
		t.Errorf("%d were lost", n)
	}
	stop := r.start(r.Store)
	stop()
	if n := value[int](r, `select count(*) from audit a join runs r on r.id = a.run where a.verdict = 'gone' and a.why = 'run_ended' and a.method = 'jwt' and a.seq = 0`); n != refusalRoom {
		t.Errorf("%d are written", n)
	}
	if n := strings.Count(log.String(), "missing from the audit trail"); n != 1 || !strings.Contains(log.String(), `"lost":7`) {
		t.Errorf("the log says %d times: %s", n, log.String())
	}
}

// A database that takes nothing is asked once at the end, not once for each batch: each time may be a time-out.
func TestTheEndDoesNotWaitForRefusals(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	pool, err := pgxpool.NewWithConfig(t.Context(), r.pool.Config())
	if err != nil {
		t.Fatal(err)
	}
	pool.Close()
	s := r.open(pool, audited)
	for i := range refusalRoom {
		s.AuditRefusal(t.Context(), refusal(fmt.Sprint(i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.writeRefusals(ctx)
	if n := errorsOf(s, errorConnection); n != 1 || s.AuditLost() != refusalRoom {
		t.Errorf("asked %d times, %d lost", n, s.AuditLost())
	}
}

// What a row cannot hold is cut, and the refusals beside it are written all the same.
func TestHostileRefusalsAreCut(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, audited)
	hostile := strings.Repeat("\x00\xff\u202e\x1b[2J", 500) + "end"
	r.AuditRefusal(t.Context(), AuditEntry{
		Namespace: spec.Namespace(hostile), RunID: spec.RunID(hostile), Kind: AuditSignal, Name: hostile, Identity: hostile, Why: hostile,
		Verdict: history.Invalid, Actor: hostile, Source: hostile,
	})
	r.AuditRefusal(t.Context(), refusal("plain"))
	r.start(r.Store)()
	if n := value[int](r, `select count(*) from audit where run is null and octet_length(identity) <= 255 and identity !~ '[[:cntrl:]]'`); n != 2 || r.AuditLost() != 0 {
		t.Errorf("%d are written, %d are lost", n, r.AuditLost())
	}
}

func TestOldEntriesGo(t *testing.T) {
	t.Parallel()
	r := running(t, audited)
	r.sql(`insert into audit (at, namespace, run_id, kind, name, identity, seq, verdict, why, actor, source, method, credential, request_id, trace, peer)
		select now() - interval '40 days' + i * interval '1 day', 'default', '', 'retry', '', i::text, 0, 'accepted', '', '', '', 'host', '', '', '', ''
		from generate_series(1, 30) i`)
	r.ok(r.startOf("a"))
	sweep := func(most, want int) {
		t.Helper()
		if n, err := r.SweepAudit(t.Context(), most, 20*24*time.Hour-time.Hour); n != want || err != nil {
			t.Errorf("%d went, want %d; %v", n, want, err)
		}
	}
	sweep(15, 15)
	sweep(15, 5)
	sweep(15, 0)
	if rows := r.trailRows(); len(rows) != 11 {
		t.Errorf("%d are left", len(rows))
	}
}

func TestTheTrailIsListed(t *testing.T) {
	t.Parallel()
	r := running(t, audited)
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	for i := range 5 {
		ctx := WithTrail(t.Context(), Trail{Trace: fmt.Sprint("trace-", i)})
		if _, err := r.Accept(ctx, r.signal("a", fmt.Sprint("s", i), "1")); err != nil {
			t.Fatal(err)
		}
	}
	r.AuditRefusal(t.Context(), refusal("late"))
	r.until("the refusal is written", func() bool { return value[int](r, `select count(*) from audit where verdict = 'gone'`) == 1 })
	list := func(f AuditFilter) (ids []string) {
		t.Helper()
		f.Namespace = "default"
		for {
			found, next, err := r.ListAudit(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				ids = append(ids, e.Identity)
			}
			if f.Cursor = next; next == "" {
				return ids
			}
		}
	}
	for name, c := range map[string]struct {
		filter AuditFilter
		want   []string
	}{
		"all":      {AuditFilter{Limit: 3}, []string{"late", "s4", "s3", "s2", "s1", "s0", "b", "a"}},
		"run":      {AuditFilter{RunID: "a", Limit: 2}, []string{"late", "s4", "s3", "s2", "s1", "s0", "a"}},
		"kind":     {AuditFilter{Kind: AuditStart}, []string{"b", "a"}},
		"verdict":  {AuditFilter{Verdict: history.Gone}, []string{"late"}},
		"run kind": {AuditFilter{RunID: "a", Kind: AuditStart}, []string{"a"}},
		"since":    {AuditFilter{Since: time.Now().Add(time.Hour)}, nil},
	} {
		if diff := cmp.Diff(c.want, list(c.filter)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if found, _, err := r.ListAudit(t.Context(), AuditFilter{Namespace: "other"}); err != nil || len(found) != 0 {
		t.Errorf("another namespace sees %v, %v", found, err)
	}
	if _, _, err := r.ListAudit(t.Context(), AuditFilter{Namespace: "other", RunID: "a"}); !errors.Is(err, history.ErrRunNotFound) {
		t.Errorf("the run of another namespace: %v", err)
	}
	if refused, err := r.RunRefusals(t.Context(), keyOf("a"), 10); err != nil || len(refused) != 1 || refused[0].Identity != "late" {
		t.Errorf("refusals: %v, %v", refused, err)
	}
	traces, err := r.ReadTraces(t.Context(), keyOf("a"), []int64{1, 3, 5, 99})
	if diff := cmp.Diff(map[int64]string{3: "trace-1", 5: "trace-3"}, traces); diff != "" || err != nil {
		t.Errorf("traces: %s, %v", diff, err)
	}
}
