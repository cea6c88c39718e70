package db

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

// What is left over is found in pages, whatever there is of it, and only when everything is verified.
func TestVerifyFindsLeftOversInPages(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	const n = 2*leftOversPage + 1
	r.sql(`insert into due select 'w' || i % 3, '1', now() + i % 7 * interval '1 second', 1000 + i, false from generate_series(1, $1) i`, n)
	r.sql(`insert into events select 5000 + i, 1, 1, 'run.started', now(), '{}' from generate_series(1, $1) i`, n)
	r.sql(`insert into due select workflow, version, wake_at + interval '1 second', id, false from runs`)

	all := r.verified(VerifyQuery{})
	seen := map[string]int{}
	for _, d := range all.Found {
		seen[d.String()]++
	}
	for i := 1; i <= n; i++ {
		for _, want := range []string{
			fmt.Sprintf(`run "%d": the row is missing, but rows of it are in due`, 1000+i),
			fmt.Sprintf(`run "%d": the row is missing, but rows of it are in events`, 5000+i),
		} {
			if seen[want] != 1 {
				t.Fatalf("%q was found %d times", want, seen[want])
			}
		}
	}
	left := `run "a" of "default": due: the run's row has no such entry`
	if seen[left] != 1 || all.Differences != 2*n+1 || len(seen) != 2*n+1 || all.Runs != 1 {
		t.Errorf("%d differences in %d runs; %q was found %d times", all.Differences, all.Runs, left, seen[left])
	}
	for _, run := range []spec.RunID{"", "a"} {
		if one := r.verified(VerifyQuery{Namespace: "default", Run: run}); one.Runs != 1 || one.Differences != 0 {
			t.Errorf("run %q of the namespace: %d differences in %d runs: %v", run, one.Differences, one.Runs, one.Found)
		}
	}
}

// The entry of a run is compared when the run or its namespace is named, too.
func TestVerifyComparesTheEntryOfANamedRun(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.sql(`delete from due`)
	for _, q := range []VerifyQuery{{}, {Namespace: "default"}, {Namespace: "default", Run: "a"}} {
		all := r.verified(q)
		if len(all.Found) != 1 || !strings.HasSuffix(all.Found[0].String(), "due: the row is missing") || all.Differences != 1 {
			t.Errorf("%+v: %v", q, all.Found)
		}
	}
}

// Whoever has seen enough of what is left over may stop, and a failure there is not silence.
func TestVerifyOfLeftOversEnds(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.sql(`insert into due select 'a', '1', now(), 1000 + i, false from generate_series(1, $1) i`, leftOversPage+1)
	pages := 0
	for page, err := range r.Verify(t.Context(), VerifyQuery{}) {
		if pages++; err != nil || pages == 2 && page.Differences != leftOversPage {
			t.Errorf("page %d: %d differences, %v", pages, page.Differences, err)
		}
		if pages == 2 {
			break
		}
	}
	r.sql(`delete from events`)
	r.sql(`delete from runs`)
	r.sql(`alter table due rename to due_elsewhere`)
	var got []error
	for _, err := range r.Verify(t.Context(), VerifyQuery{}) {
		got = append(got, err)
	}
	if pages != 2 || len(got) != 1 || got[0] == nil {
		t.Errorf("%d pages; without its table: %v", pages, got)
	}
}
