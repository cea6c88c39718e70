package db

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// held is a use case whose nth statement is held back until its time is over, by a breaker of its own.
type held struct {
	run   string
	what  func(f *faultRig, s *Store, run string) string
	fault *pgfault.Fault
	read  string
}

// A network that holds a statement back for longer than a transaction may take: the caller is told in time, nobody else
// waits, and what comes after all finds no transaction. All statements are held at one time, so the test takes as long as
// one transaction may.
func TestEveryStatementHeldPastItsTime(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	var all []*held
	var group sync.WaitGroup
	for name, what := range map[string]func(*faultRig, *Store, string) string{
		"message": func(f *faultRig, s *Store, run string) string {
			receipt, err := s.Accept(context.Background(), f.signal(run, "s", "1"))
			return readingOf(receipt.Verdict, err)
		},
		"turn": func(_ *faultRig, s *Store, run string) string {
			_, err := s.AdvanceOne(context.Background(), by(approval), keyOf(run))
			return readingOf(doneWord, err)
		},
	} {
		for n := 1; n <= 9; n++ {
			h := &held{run: fmt.Sprint(name, n), what: what}
			all = append(all, h)
			f.ok(f.startOf(h.run))
			if name == "message" {
				f.turns(f.fresh(), approval)
			}
			var b pgfault.Breaker
			s := f.over(f.brokenBy(&b), shortWait)
			f.start(s)
			if err := s.pool.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.fault = b.At(n, pgfault.Hold, "")
			group.Go(func() { h.read = what(f, s, h.run) })
			f.until("it is held", func() bool { return h.fault.Happened() || name == "turn" && n > 8 })
		}
	}
	f.ok(f.startOf("bystander"))
	f.ok(f.signal("bystander", "s", "1"))
	group.Wait()
	for _, h := range all {
		h.fault.Release()
	}
	f.nothingLeft()
	f.settleHeld(all)
	f.someFolded()
}

// settleHeld checks what the callers read, sends again and lets the runs end.
func (f *faultRig) settleHeld(all []*held) {
	f.t.Helper()
	stored := map[string]bool{}
	for _, run := range value[[]string](f.acceptRig, `select coalesce(array_agg(run_id), '{}') from runs where next_seq > 3`) {
		stored[run] = true
	}
	good := 0
	for _, h := range all {
		switch h.read {
		case acceptedWord, duplicateWord:
			good++
			if !stored[h.run] {
				f.t.Errorf("%s held at %q: it was answered with %q and is not stored", h.run, title(h.fault.SQL()), h.read)
			}
		case unavailableWord:
		default:
			if !h.fault.Happened() {
				break // it has no such statement
			}
			f.t.Errorf("%s held at %q: it reads %q", h.run, title(h.fault.SQL()), h.read)
		}
		want := []string{acceptedWord, doneWord}
		if stored[h.run] {
			want = []string{duplicateWord, doneWord}
		}
		if got := h.what(f, f.Store, h.run); !slices.Contains(want, got) {
			f.t.Errorf("%s held at %q, sent again: %q, want one of %q", h.run, title(h.fault.SQL()), got, want)
		}
		if h.what(f, f.Store, h.run); f.view(h.run).Status == history.Running {
			f.turns(f.fresh(), approval)
		}
	}
	if good == 0 {
		f.t.Error("no message was decided again after its COMMIT was held: the answer was not truthful for want of an attempt")
	}
}
