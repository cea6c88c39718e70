package db

import (
	"context"
	"maps"
	"slices"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// otherDigests are those that the hook's token has under digest keys beside the one it would be stored under. Only a
// token that the host supplied has any: a minted one is new.
func (n newHook) otherDigests() []history.TokenDigest {
	all := n.run.outcome.HostDigests[n.hook.ID]
	return slices.DeleteFunc(slices.Clone(all), func(d history.TokenDigest) bool { return d == n.hook.Grant.Digest })
}

// ownedOtherwise says that the token stands under another key.
func (n newHook) ownedOtherwise(owners map[history.TokenDigest]sqlc.TokenOwnersRow) bool {
	return slices.ContainsFunc(n.otherDigests(), func(d history.TokenDigest) bool { _, ok := owners[d]; return ok })
}

// owner is the hook that has the token, if one has. Another key is asked first: under its own the hook may have been
// inserted by this very transaction.
func (n newHook) owner(owners map[history.TokenDigest]sqlc.TokenOwnersRow) *sqlc.TokenOwnersRow {
	for _, d := range append(n.otherDigests(), n.hook.Grant.Digest) {
		if owner, ok := owners[d]; ok {
			return &owner
		}
	}
	return nil
}

// queueOtherKeys asks who has the tokens under keys beside those they would be stored under. The unique key does not see
// that two digests are of one token, so transactions that claim it are made to follow one another. With one digest key
// loaded, as nearly always, it asks nothing.
func queueOtherKeys(p *pipeline, hooks []newHook) *[]sqlc.TokenOwnersRow {
	var others [][]byte
	wanted := map[int32]bool{}
	for _, n := range hooks {
		more := n.otherDigests()
		if len(more) == 0 {
			continue
		}
		wanted[bucket(n.hook.Grant.Digest)] = true
		for _, d := range more {
			wanted[bucket(d)] = true
			others = append(others, slices.Clone(d[:]))
		}
	}
	if len(others) == 0 {
		return new([]sqlc.TokenOwnersRow)
	}
	p.exec(sqlc.LockTokens, sqlc.LockTokensParams{Buckets: slices.Sorted(maps.Keys(wanted))})
	return queueRows[sqlc.TokenOwnersRow](p, sqlc.TokenOwners, sqlc.TokenOwnersParams{TokenDigests: others})
}

// bucket is one of 256 locks. The server's memory for locks is bounded, the number of tokens in a claim is not.
func bucket(d history.TokenDigest) int32 { return int32(d[0]) }

// tokenOwners reads who has the tokens of these hooks, under any key.
func (c *claim) tokenOwners(ctx context.Context, hooks []newHook) (map[history.TokenDigest]sqlc.TokenOwnersRow, error) {
	var digests [][]byte
	for _, n := range hooks {
		for _, d := range append(n.otherDigests(), n.hook.Grant.Digest) {
			digests = append(digests, slices.Clone(d[:]))
		}
	}
	p := &pipeline{}
	rows := queueRows[sqlc.TokenOwnersRow](p, sqlc.TokenOwners, sqlc.TokenOwnersParams{TokenDigests: digests})
	if err := p.send(ctx, c.conn); err != nil {
		return nil, err
	}
	return byDigest(*rows), nil
}

func byDigest(rows []sqlc.TokenOwnersRow) map[history.TokenDigest]sqlc.TokenOwnersRow {
	owners := make(map[history.TokenDigest]sqlc.TokenOwnersRow, len(rows))
	for _, row := range rows {
		owners[history.TokenDigest(row.TokenDigest)] = row
	}
	return owners
}
