package db

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func TestVerifyAgrees(t *testing.T) {
	t.Parallel()
	r := everything(t)
	all := r.agrees()
	if runs, events := value[int](r, `select count(*) from runs`), value[int64](r, `select count(*) from events`); all.Runs != runs || all.Events != events {
		t.Errorf("verified %d runs and %d events of %d and %d", all.Runs, all.Events, runs, events)
	}
}

// A query selects a namespace, or one run in it.
func TestVerifySelects(t *testing.T) {
	t.Parallel()
	r := everything(t)
	r.sql(`update runs set backlog = 7`)
	for _, tt := range []struct {
		query VerifyQuery
		runs  int
		err   error
	}{
		{VerifyQuery{}, allRuns, nil},
		{VerifyQuery{Namespace: "default"}, allRuns - 1, nil},
		{VerifyQuery{Namespace: "other"}, 1, nil},
		{VerifyQuery{Namespace: "absent"}, 0, nil},
		{VerifyQuery{Namespace: "default", Run: "eventful"}, 1, nil},
		{VerifyQuery{Namespace: "other", Run: "eventful"}, 0, history.ErrRunNotFound},
		{VerifyQuery{Run: "eventful"}, 0, errInvalid},
	} {
		runs, differences := 0, 0
		var got error
		for page, err := range r.Verify(t.Context(), tt.query) {
			if got != nil {
				t.Fatalf("%+v: goes on after %v", tt.query, got)
			}
			got = err
			runs += page.Runs
			differences += page.Differences
			for _, d := range page.Found {
				if tt.query.Namespace != "" && d.Run.Namespace != tt.query.Namespace || tt.query.Run != "" && d.Run.RunID != tt.query.Run {
					t.Errorf("%+v: %s", tt.query, d)
				}
			}
		}
		if _, invalid := errors.AsType[*spec.InvalidError](got); invalid {
			got = errInvalid
		}
		if runs != tt.runs || differences != tt.runs || !errors.Is(got, tt.err) || tt.err == nil && got != nil {
			t.Errorf("%+v: %d runs, %d differences, error %v; want %d, %v", tt.query, runs, differences, got, tt.runs, tt.err)
		}
	}
}

var errInvalid = errors.New("invalid")

// Every page is verified, and whoever has seen enough may stop.
func TestVerifyGoesFromPageToPage(t *testing.T) {
	t.Parallel()
	r := running(t)
	const n = 2*verifyPage + 1
	for i := range n {
		r.ok(r.startOf(fmt.Sprintf("r%03d", i)))
	}
	r.drain(by(approval))
	r.sql(`update runs set backlog = 1 where run_id in ('r000', 'r063', 'r064', 'r127', 'r128')`)
	for _, q := range []VerifyQuery{{}, {Namespace: "default"}} {
		if all := r.verified(q); all.Runs != n || all.Events != 2*n || all.Differences != 5 {
			t.Errorf("%+v: %d runs, %d events, %d differences", q, all.Runs, all.Events, all.Differences)
		}
	}
	pages := 0
	for page, err := range r.Verify(t.Context(), VerifyQuery{}) {
		if pages++; err != nil || page.Runs != verifyPage {
			t.Errorf("page %d: %d runs, %v", pages, page.Runs, err)
		}
		break
	}
	r.sql(`delete from events where run > (select id from runs where run_id = 'r127')`)
	r.sql(`delete from runs where run_id = 'r128'`)
	if all := r.verified(VerifyQuery{}); all.Runs != n-1 || pages != 1 { // the last page is full
		t.Errorf("%d runs, stopped after %d pages", all.Runs, pages)
	}
}

// A database that does not answer is not one in which everything agrees.
func TestVerifyFails(t *testing.T) {
	t.Parallel()
	r := everything(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range map[string]struct {
		store *Store
		ctx   context.Context
	}{
		"no server":   {r.open(deadPool(t)), t.Context()},
		"no patience": {r.Store, gone},
	} {
		pages := 0
		for page, err := range run.store.Verify(run.ctx, VerifyQuery{}) {
			if pages++; !errors.Is(err, ErrUnavailable) || page.Runs != 0 {
				t.Errorf("%s: %d runs, error %v", name, page.Runs, err)
			}
		}
		if pages != 1 {
			t.Errorf("%s: %d pages", name, pages)
		}
	}
}

// A statement that goes wrong half-way leaves the connection as it should be, and the next verification is whole.
func TestVerifyOfAnotherSchemaFails(t *testing.T) {
	t.Parallel()
	r := everything(t)
	r.sql(`alter table hooks rename to hooks_elsewhere`)
	for page, err := range r.Verify(t.Context(), VerifyQuery{}) {
		if broken := new(*DatabaseError); !errors.As(err, broken) || page.Runs != 0 {
			t.Errorf("%d runs, error %v", page.Runs, err)
		}
	}
	r.sql(`alter table hooks_elsewhere rename to hooks`)
	r.agrees()
}
