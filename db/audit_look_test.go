package db

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// What is rare in a long trail is found over several pages, each of which looks at so many entries, and is not looked for
// where it is too old.
func TestAFilteredPageLooksAtSoManyEntries(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.sql(`insert into audit (at, namespace, run_id, kind, name, identity, seq, verdict, why, actor, source, method, credential, request_id, trace, peer)
		select now() - interval '1 day', 'ns1', 'r', 'cancel', '', '', 0, 'accepted', '', '', '', 'host', '', '', '', '' from generate_series(1, 2)`)
	r.crowdOfEntries(7 * auditLook) // a third of them in each of three namespaces
	pages := func(f AuditFilter) (pages, found int) {
		f.Namespace, f.Limit = "ns1", 10
		for {
			entries, next, err := r.ListAudit(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			pages, found = pages+1, found+len(entries)
			if f.Cursor = next; next == "" || pages > 100 {
				return pages, found
			}
		}
	}
	for name, tc := range map[string]struct {
		f            AuditFilter
		pages, found int
	}{
		"rare":        {AuditFilter{Kind: AuditCancel}, 3, 2},
		"none":        {AuditFilter{Verdict: history.Invalid}, 3, 0},
		"too old":     {AuditFilter{Kind: AuditCancel, Since: time.Now().Add(-time.Hour)}, 3, 0},
		"none so new": {AuditFilter{Since: time.Now().Add(time.Hour)}, 1, 0},
	} {
		if pages, found := pages(tc.f); pages != tc.pages || found != tc.found {
			t.Errorf("%s: %d pages, %d found, want %d, %d", name, pages, found, tc.pages, tc.found)
		}
	}
}
