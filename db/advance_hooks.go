package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// hookRounds is how often the turn of a run is decided again because of hooks that were refused.
const hookRounds = 16

var errHookRounds = errors.New("the workflow went on creating hooks whose tokens are taken")

// newHook is a hook that a turn wants to open.
type newHook struct {
	run  *claimedRun
	hook history.Hook
}

// placeHooks inserts the new hooks of all turns. The turn of a run whose hook is refused is decided again, knowing so; the
// hooks of all turns are then inserted anew, after the first try was rolled back to its savepoint. So no statement that
// may wait for a token begins while the transaction holds one, and two transactions cannot wait for each other
// (docs/locking.md). Every round decides a run again, and none more than hookRounds times, or lets go of a run, so the
// rounds end.
func (c *claim) placeHooks(ctx context.Context) error {
	for first := true; ; first = false {
		hooks := c.newHooks()
		if len(hooks) == 0 {
			return nil
		}
		placed, refused, err := c.insertHooks(ctx, hooks, first)
		if err != nil || len(refused) == 0 {
			return err
		}
		again, err := c.reject(ctx, placed, refused)
		if err != nil {
			return err
		}
		if err := c.decideAgain(ctx, again); err != nil {
			return err
		}
	}
}

// newHooks lists the hooks of all turns in the order in which every transaction inserts hooks: that of their tokens.
func (c *claim) newHooks() []newHook {
	var hooks []newHook
	for _, r := range c.runs {
		if r.dropped {
			continue
		}
		for _, h := range r.outcome.NewHooks {
			hooks = append(hooks, newHook{run: r, hook: h})
		}
	}
	slices.SortStableFunc(hooks, func(a, b newHook) int {
		return bytes.Compare(a.hook.Grant.Digest[:], b.hook.Grant.Digest[:])
	})
	return hooks
}

// placedHooks are the rows that a try inserted.
type placedHooks map[sqlc.InsertHooksRow]bool

func (p placedHooks) has(run int64, hook string) bool {
	return p[sqlc.InsertHooksRow{Run: run, HookID: hook}]
}

// insertHooks tries to insert all the hooks. If one is refused, the try is to be rolled back.
func (c *claim) insertHooks(ctx context.Context, hooks []newHook, first bool) (placed placedHooks, refused []newHook, err error) {
	var params sqlc.InsertHooksParams
	for _, n := range hooks {
		if err := addHook(&params, n); err != nil {
			return nil, nil, err
		}
	}
	p := &pipeline{}
	if first {
		p.batch.Queue("savepoint hooks")
	}
	taken := queueOtherKeys(p, hooks)
	rows := queueRows[sqlc.InsertHooksRow](p, sqlc.InsertHooks, params)
	if err := p.send(ctx, c.conn); err != nil {
		return nil, nil, err
	}
	placed = make(placedHooks, len(*rows))
	for _, row := range *rows {
		placed[row] = true
	}
	owners := byDigest(*taken)
	for _, n := range hooks {
		if !placed.has(n.run.ID, string(n.hook.ID)) || n.ownedOtherwise(owners) {
			refused = append(refused, n)
		}
	}
	return placed, refused, nil
}

func addHook(p *sqlc.InsertHooksParams, n newHook) error {
	h := n.hook
	metadata, err := json.Marshal(h.Metadata)
	if err != nil {
		return fmt.Errorf("metadata of hook %q: %w", h.ID, err)
	}
	labels, err := labelsJSON(h.Metadata.Labels)
	if err != nil {
		return fmt.Errorf("labels of hook %q: %w", h.ID, err)
	}
	p.Runs = append(p.Runs, n.run.ID)
	p.Namespaces = append(p.Namespaces, string(n.run.Run.Key.Namespace))
	p.HookIds = append(p.HookIds, string(h.ID))
	p.Names = append(p.Names, h.Name)
	p.Metadatas = append(p.Metadatas, metadata)
	p.Labels = append(p.Labels, labels)
	p.TokenDigests = append(p.TokenDigests, h.Grant.Digest[:])
	p.DigestKeys = append(p.DigestKeys, h.Grant.DigestKey)
	p.MintKeys = append(p.MintKeys, h.Grant.MintKey)
	p.Nonces = append(p.Nonces, h.Grant.Nonce)
	p.States = append(p.States, string(h.State))
	p.CreatedAts = append(p.CreatedAts, h.CreatedAt)
	p.ExpiresAts = append(p.ExpiresAts, orZero(h.ExpiresAt))
	p.ResolvedAts = append(p.ResolvedAts, orZero(h.ResolvedAt))
	p.ResolvedSeqs = append(p.ResolvedSeqs, h.ResolvedSeq)
	p.Sources = append(p.Sources, h.Source)
	p.Actors = append(p.Actors, h.Actor)
	return nil
}

// reject notes why hooks were refused, and returns the runs to decide again. What it notes stays true whatever the next
// round brings, because the owner of the token has committed it. A hook that lost against one of this transaction is
// another matter: see leaveRivals.
func (c *claim) reject(ctx context.Context, placed placedHooks, refused []newHook) ([]*claimedRun, error) {
	owners, err := c.tokenOwners(ctx, refused)
	if err != nil {
		return nil, err
	}
	deciding := map[*claimedRun]bool{}
	for _, n := range refused {
		owner := n.owner(owners)
		if owner == nil || owner.Run == n.run.ID || !placed.has(owner.Run, owner.HookID) {
			deciding[n.run] = true
			n.run.reject(n.hook.ID, owner)
		}
	}
	c.leaveRivals(deciding)
	var again []*claimedRun
	for _, r := range c.runs {
		switch {
		case !deciding[r]:
		case r.rounds >= hookRounds:
			r.fail(history.BlockBudget, errHookRounds)
		default:
			r.rounds++
			again = append(again, r)
		}
	}
	return again, nil
}

// leaveRivals lets go of each run that wants a token which an earlier one in key order wants too, apart from those that
// are decided again. It stays due: the next claim knows who has the token, while that one may yet lose it, or decide
// otherwise.
func (c *claim) leaveRivals(deciding map[*claimedRun]bool) {
	byKey := slices.SortedFunc(slices.Values(c.runs), func(a, b *claimedRun) int { return a.Run.Key.Compare(b.Run.Key) })
	wanted := map[history.TokenDigest]bool{}
	for _, r := range byKey {
		if r.dropped || deciding[r] {
			continue
		}
		if slices.ContainsFunc(r.outcome.NewHooks, func(h history.Hook) bool { return wanted[h.Grant.Digest] }) {
			r.dropped = true
			c.left = append(c.left, r)
			continue
		}
		for _, h := range r.outcome.NewHooks {
			wanted[h.Grant.Digest] = true
		}
	}
	c.runs = slices.DeleteFunc(c.runs, func(r *claimedRun) bool { return slices.Contains(c.left, r) })
}

// reject notes the refusal. A token without an owner means that the hook ID was the reason, and so does the same hook of
// an earlier generation.
func (r *claimedRun) reject(id spec.HookID, owner *sqlc.TokenOwnersRow) {
	rejection := history.Rejection{Reason: history.RejectIDUsed}
	if owner != nil && (owner.Run != r.ID || owner.HookID != string(id)) {
		rejection.Reason = history.RejectTaken
		if owner.Namespace == string(r.Run.Key.Namespace) {
			rejection.OwnerRun = spec.RunID(owner.RunID)
		}
	}
	if r.rejected == nil {
		r.rejected = map[spec.HookID]history.Rejection{}
	}
	r.rejected[id] = rejection
}

// decideAgain runs the turns of these runs once more, on fresh states, after every hook that was inserted is taken back.
// Only a rollback frees a token for those who wait for it: they would wait for a deleted row until the commit.
func (c *claim) decideAgain(ctx context.Context, runs []*claimedRun) error {
	p := &pipeline{}
	p.batch.Queue("rollback to savepoint hooks")
	if err := c.foldCold(ctx, p, runs); err != nil {
		return err
	}
	for _, r := range runs {
		c.decide(r)
	}
	return nil
}
