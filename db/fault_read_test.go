package db

import (
	"context"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/spec"
)

// faultReads are all reads, of what there is and of what there is not.
func faultReads() map[string]func(s *Store) error {
	ctx := context.Background()
	a, none := keyOf("a/resume"), keyOf("none")
	return map[string]func(s *Store) error{
		"run":            func(s *Store) error { _, err := s.ReadRun(ctx, a); return err },
		"no run":         func(s *Store) error { _, err := s.ReadRun(ctx, none); return err },
		"hook":           func(s *Store) error { _, err := s.Hook(ctx, a, "h"); return err },
		"no hook":        func(s *Store) error { _, err := s.Hook(ctx, a, "none"); return err },
		"token":          func(s *Store) error { return resolve(s, tokenOf("a/resume", "h")) },
		"no token":       func(s *Store) error { return resolve(s, "none") },
		"signal":         func(s *Store) error { _, err := s.Signal(ctx, a, "s"); return err },
		"no signal":      func(s *Store) error { _, err := s.Signal(ctx, a, "none"); return err },
		"history":        func(s *Store) error { _, err := s.History(ctx, a, 0, 0, 0); return err },
		"no events":      func(s *Store) error { _, err := s.History(ctx, a, 7, 0, 0); return err },
		"no history":     func(s *Store) error { _, err := s.History(ctx, none, 0, 0, 0); return err },
		"state":          func(s *Store) error { _, _, err := s.State(ctx, a); return err },
		"no state":       func(s *Store) error { _, _, err := s.State(ctx, none); return err },
		"runs":           func(s *Store) error { return listRuns(s, nil) },
		"labelled runs":  func(s *Store) error { return listRuns(s, spec.Labels{"k": "v"}) },
		"hooks":          func(s *Store) error { return listHooks(s, HookFilter{}) },
		"hooks of a run": func(s *Store) error { return listHooks(s, HookFilter{Run: "a/resume"}) },
		"labelled hooks": func(s *Store) error { return listHooks(s, HookFilter{Labels: spec.Labels{"k": "v"}}) },
		"update":         func(s *Store) error { _, err := s.ReadUpdate(ctx, UpdateKey{a, "u"}); return err },
		"no update":      func(s *Store) error { _, err := s.ReadUpdate(ctx, UpdateKey{a, "none"}); return err },
		"ended updates":  func(s *Store) error { _, err := s.EndedUpdates(ctx, []UpdateKey{{a, "u"}}); return err },
		"ended runs":     func(s *Store) error { _, err := s.EndedRuns(ctx, []history.RunKey{a}); return err },
		"spec":           func(s *Store) error { _, err := s.SpecByDigest(ctx, plainSpec); return err },
		"no spec":        func(s *Store) error { _, err := s.SpecByDigest(ctx, absentSpec); return err },
		"version":        func(s *Store) error { _, err := s.SpecVersion(ctx, "invoice", "1"); return err },
		"no version":     func(s *Store) error { _, err := s.SpecVersion(ctx, "invoice", "9"); return err },
		"last version":   func(s *Store) error { _, err := s.SpecVersion(ctx, "invoice", ""); return err },
		"specs":          func(s *Store) error { _, err := s.ListSpecs(ctx); return err },
		"message":        func(s *Store) error { _, err := s.KnownMessage(ctx, MessageKey{"default", "src:a"}); return err },
		"no message":     func(s *Store) error { _, err := s.KnownMessage(ctx, MessageKey{"other", "src:a"}); return err },
		"no message row": func(s *Store) error { _, err := s.ReadMessage(ctx, "default", 99); return err },
		"messages": func(s *Store) error {
			_, _, err := s.ListMessages(ctx, MessageFilter{Namespace: "default"})
			return err
		},
		"live codes": func(s *Store) error { _, err := s.LiveCodes(ctx); return err },
	}
}

func resolve(s *Store, token string) error {
	_, err := s.ResolveToken(context.Background(), []history.TokenDigest{digestOf(token)})
	return err
}

func listRuns(s *Store, labels spec.Labels) error {
	_, _, err := s.ListRuns(context.Background(), RunFilter{Namespace: "default", Labels: labels})
	return err
}

func listHooks(s *Store, filter HookFilter) error {
	filter.Namespace = "default"
	_, _, err := s.ListHooks(context.Background(), filter)
	return err
}

// A read that fails because of us never says that something is not there, and the next one is right.
func TestFaultAtEveryStatementOfARead(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	f.prepare("a", faultMessages()...)
	f.ok(f.signal("a/resume", "s", "1"))
	f.ok(f.update("a/resume", "u", "1"))
	f.sql(`insert into spec_versions (name, version, digest) values ('invoice', '1', $1)`, plainSpec[:])
	if _, err := f.HoldMessage(t.Context(), messageFor("a", "")); err != nil {
		t.Fatal(err)
	}
	ways := slices.Concat(lostWays[:1], refusedWays("23514", "55P03", "42601"))
	for name, read := range faultReads() {
		clean := readingOf(doneWord, read(f.Store))
		if (name[:3] == "no ") != (clean != doneWord) && name != "no events" {
			t.Errorf("%s: %s", name, clean)
		}
		for _, w := range ways {
			n := 1
			for ; f.readAt(name, read, clean, w, n); n++ {
				if n > 20 {
					t.Fatalf("%s takes too many statements", name)
				}
			}
			if n == 1 {
				t.Errorf("%s: no statement %v", name, w)
			}
		}
	}
	f.nothingLeft()
}

// readAt makes one statement of a read fail. It reports whether there was such a statement.
func (f *faultRig) readAt(name string, read func(*Store) error, clean string, w faultWay, n int) bool {
	f.t.Helper()
	f.ready()
	fault := f.breaker.At(n, w.kind, w.state)
	got := readingOf(doneWord, read(f.patient))
	f.breaker.Clear()
	want := unavailableWord
	switch {
	case !fault.Happened(), fault.SQL() == "rollback": // it has read everything by then
		want = clean
	case w.kind == pgfault.Refuse:
		want = refusedWith(w.state)
	}
	if got != want {
		f.t.Errorf("%s, %v at %q: %q, want %q", name, w, title(fault.SQL()), got, want)
	}
	if got := readingOf(doneWord, read(f.patient)); got != clean {
		f.t.Errorf("%s after it was %v at %q: %q, want %q", name, w, title(fault.SQL()), got, clean)
	}
	return fault.Happened()
}
