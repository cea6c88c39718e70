package db

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func (r *acceptRig) allHooks(f HookFilter) (ids []string) {
	r.t.Helper()
	for pages := 0; ; pages++ {
		hooks, next, err := r.ListHooks(r.t.Context(), f)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, h := range hooks {
			ids = append(ids, fmt.Sprintf("%s/%s/%s", h.Run.RunID, h.ID, h.State))
		}
		if next == "" || pages > 100 {
			return ids
		}
		f.Cursor = next
	}
}

func TestListHooks(t *testing.T) {
	t.Parallel()
	r := running(t)
	for _, id := range []string{"a", "b"} {
		r.ok(r.startOf(id))
	}
	past, soon := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	r.hook("a", "plain", nil)
	r.hook("a", "late", &past)
	r.hook("b", "soon", &soon)
	r.hook("b", "old", nil)
	r.sql(`update hooks set labels = '{"team": "blue"}' where hook_id in ('late', 'old')`)
	r.sql(`update hooks set created_at = now() - interval '2 hours' where hook_id = 'old'`)
	r.hook("a", "gone", &past)
	r.sql(`update hooks set state = 'expired', resolved_at = now() where hook_id = 'gone'`)
	r.ok(r.resume("b", "soon", "1"))
	all := []string{"a/gone/expired", "b/old/active", "b/soon/resumed", "a/late/expired", "a/plain/active"}
	for name, tt := range map[string]struct {
		filter HookFilter
		want   []string
	}{
		"all":              {HookFilter{}, all},
		"active":           {HookFilter{State: history.StateActive}, []string{"b/old/active", "a/plain/active"}},
		"expired":          {HookFilter{State: history.StateExpired}, []string{"a/gone/expired", "a/late/expired"}},
		"resumed":          {HookFilter{State: history.StateResumed}, []string{"b/soon/resumed"}},
		"disposed":         {HookFilter{State: history.StateDisposed}, nil},
		"labelled":         {HookFilter{Labels: spec.Labels{"team": "blue"}}, []string{"b/old/active", "a/late/expired"}},
		"labelled, active": {HookFilter{Labels: spec.Labels{"team": "blue"}, State: history.StateActive}, []string{"b/old/active"}},
		"of a run":         {HookFilter{Run: "a"}, []string{"a/gone/expired", "a/late/expired", "a/plain/active"}},
		"of a run, active": {HookFilter{Run: "a", State: history.StateActive}, []string{"a/plain/active"}},
		"of a run, team":   {HookFilter{Run: "a", Labels: spec.Labels{"team": "blue"}}, []string{"a/late/expired"}},
		"older":            {HookFilter{OlderThan: time.Hour}, []string{"b/old/active"}},
		"older, of a run":  {HookFilter{OlderThan: time.Hour, Run: "a"}, nil},
		"other namespace":  {HookFilter{Namespace: "other"}, nil},
		"of another's run": {HookFilter{Namespace: "other", Run: "a"}, nil},
	} {
		for _, limit := range []int{1, 2, 50} {
			f := tt.filter
			f.Limit = limit
			if f.Namespace == "" {
				f.Namespace = "default"
			}
			if diff := cmp.Diff(tt.want, r.allHooks(f)); diff != "" {
				t.Errorf("%s, %d a page: %s", name, limit, diff)
			}
		}
	}
	h, err := r.Hook(t.Context(), keyOf("a"), "late")
	if err != nil || h.State != history.StateExpired || h.ResolvedAt != nil || h.ReadAt.Sub(h.CreatedAt) < 0 {
		t.Errorf("%+v %v", h, err)
	}
}

func TestResolveToken(t *testing.T) {
	t.Parallel()
	r := running(t)
	m := r.startOf("a")
	m.Run.Namespace = "other"
	r.ok(m)
	r.advance(by(opens("h", "token")))
	got, err := r.ResolveToken(t.Context(), []history.TokenDigest{digestOf("x"), digestOf("token")})
	if err != nil || got.Run != m.Run || got.ID != "h" || got.SpecDigest != plainSpec {
		t.Errorf("%+v %v", got, err)
	}
	for _, digests := range [][]history.TokenDigest{nil, {digestOf("nobody's")}} {
		if _, err := r.ResolveToken(t.Context(), digests); !errors.Is(err, history.ErrTokenNotFound) {
			t.Errorf("%d digests: %v", len(digests), err)
		}
	}
}

// A host-supplied token that two hooks took, under a digest key each, belongs to the one that was first, however the
// digests of a look-up are ordered.
func TestTokenUnderTwoKeysBelongsToTheFirst(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("z"))
	r.ok(r.startOf("a"))
	r.hook("z", "h", nil)
	r.hook("a", "h", nil)
	first, second := digestOf("z/h"), digestOf("a/h")
	for _, digests := range [][]history.TokenDigest{{first, second}, {second, first}} {
		got, err := r.ResolveToken(t.Context(), digests)
		if err != nil || got.Run != keyOf("z") {
			t.Errorf("resolved to %s: %v", got.Run.RunID, err)
		}
	}
}
