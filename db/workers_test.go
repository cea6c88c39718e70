package db

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWorkers(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	a1, a2, b := Code{"a", "1"}, Code{"a", "2"}, Code{"b", "1"}
	beat := func(process string, codes ...Code) {
		t.Helper()
		if err := r.Heartbeat(t.Context(), process, codes); err != nil {
			t.Fatal(err)
		}
	}
	live := func(want ...Code) {
		t.Helper()
		wanted := map[Code]bool{}
		for _, c := range want {
			wanted[c] = true
		}
		got, err := r.LiveCodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Error(diff)
		}
	}
	live()
	beat("p", a1, a2)
	beat("q", a1, b)
	beat("idle")
	live(a1, a2, b)
	r.sql(`update workers set seen_at = now() - interval '31 seconds' where process = 'p'`)
	live(a1, b)
	beat("p", a1, a2)
	live(a1, a2, b)
	if err := r.Leave(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	live(a1, a2)
	if err := r.Leave(t.Context(), "q"); err != nil {
		t.Errorf("leaving again: %v", err)
	}
}

// Rows of processes that died are removed, a few at a time.
func TestDeadWorkersGo(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.sql(`insert into workers select 'dead' || i, 'w', '1', now() - interval '25 hours' from generate_series(1, 150) i`)
	r.sql(`insert into workers values ('late', 'w', '1', now() - interval '23 hours')`)
	for i, want := range []int{52, 2, 2} {
		if err := r.Heartbeat(t.Context(), "p", []Code{{"w", "1"}}); err != nil {
			t.Fatal(err)
		}
		if got := value[int](r, `select count(*) from workers`); got != want {
			t.Errorf("after heartbeat %d: %s rows, want %d", i+1, fmt.Sprint(got), want)
		}
	}
}
