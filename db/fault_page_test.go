package db

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/flowgate-go/flowgate/internal/history"
)

// pageDeed makes the only page that there is room for: it is there as a whole or not at all, and once.
func pageDeed() deed {
	return deed{
		name: "keep a page",
		before: func(f *faultRig, prefix string) {
			f.ok(f.startOf(at(prefix, "it")))
			f.turns(f.fresh(), func(*history.State) history.Decision { return decide(hookOn("h", prefix), wait("end")) })
		},
		do: func(s *Store, prefix string) error {
			nonce := sha256.Sum256([]byte(prefix))
			return s.KeepPage(context.Background(), Page{
				Run: theRun(prefix), HookID: "h", Recipient: "ada", Digest: history.TokenDigest(nonce), DigestKey: "d1",
				MintKey: "m1", Nonce: nonce[:16],
			}, 1)
		},
		probe: `select coalesce(string_agg(p.recipient || ' ' || p.hook_id, ' '), '') from pages p join runs r on r.id = p.run
			where r.run_id = $1 || '/it'`,
		ways: slices.Concat(lostWays[:1], lateWays, refusedWays("40001", "42601")),
	}
}
