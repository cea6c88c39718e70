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

// hookRounds is how often the turns of a claim are decided again because of hooks that were refused.
const hookRounds = 16

var errHookRounds = errors.New("the workflow went on creating hooks whose tokens are taken")

// newHook is a hook that a turn wants to open.
type newHook struct {
	run  *claimedRun
	hook history.Hook
}

// placeHooks inserts the new hooks of all turns. The turn of a run whose hook is refused is decided again, knowing so.
func (c *claim) placeHooks(ctx context.Context) error {
	for range hookRounds {
		hooks := c.newHooks()
		if len(hooks) == 0 {
			return nil
		}
		refused, err := c.insertHooks(ctx, hooks)
		if err != nil || len(refused) == 0 {
			return err
		}
		again, err := c.reject(ctx, refused)
		if err != nil {
			return err
		}
		if err := c.decideAgain(ctx, again); err != nil {
			return err
		}
	}
	return c.giveUp(ctx)
}

// newHooks lists the hooks that are not inserted yet, in the order in which all transactions insert hooks: that of their
// tokens. Of two claims on one token the earlier run in key order comes first and wins.
func (c *claim) newHooks() []newHook {
	var hooks []newHook
	for _, r := range c.runs {
		if r.dropped {
			continue
		}
		for _, h := range r.outcome.NewHooks {
			if !r.placed[h.ID] {
				hooks = append(hooks, newHook{run: r, hook: h})
			}
		}
	}
	slices.SortStableFunc(hooks, func(a, b newHook) int {
		if order := bytes.Compare(a.hook.Grant.Digest[:], b.hook.Grant.Digest[:]); order != 0 {
			return order
		}
		return a.run.Run.Key.Compare(b.run.Run.Key)
	})
	return hooks
}

// insertHooks returns the hooks that were refused.
func (c *claim) insertHooks(ctx context.Context, hooks []newHook) ([]newHook, error) {
	var params sqlc.InsertHooksParams
	for _, n := range hooks {
		if err := addHook(&params, n); err != nil {
			return nil, err
		}
	}
	p := &pipeline{}
	rows := queueRows[sqlc.InsertHooksRow](p, sqlc.InsertHooks, params)
	if err := p.send(ctx, c.conn); err != nil {
		return nil, err
	}
	placed := make(map[sqlc.InsertHooksRow]bool, len(*rows))
	for _, row := range *rows {
		placed[row] = true
	}
	var refused []newHook
	for _, n := range hooks {
		if placed[sqlc.InsertHooksRow{Run: n.run.ID, HookID: string(n.hook.ID)}] {
			n.run.placed[n.hook.ID] = true
			continue
		}
		refused = append(refused, n)
	}
	return refused, nil
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

// reject notes why each hook was refused and returns the runs to decide again. A hook that lost against one of a run that
// is itself decided again is left for the next round: its owner may not want the token any more.
func (c *claim) reject(ctx context.Context, refused []newHook) ([]*claimedRun, error) {
	owners, err := c.tokenOwners(ctx, refused)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(refused, func(a, b newHook) int { return a.run.Run.Key.Compare(b.run.Run.Key) })
	var again []*claimedRun
	deciding := map[int64]bool{}
	for _, n := range refused {
		owner, owned := owners[n.hook.Grant.Digest]
		if owned && owner.Run != n.run.ID && deciding[owner.Run] {
			continue
		}
		if !deciding[n.run.ID] {
			deciding[n.run.ID] = true
			again = append(again, n.run)
		}
		n.run.reject(n.hook.ID, owner, owned)
	}
	return again, nil
}

// reject notes the refusal. A token without an owner means that the hook ID was the reason, and so does the same hook of
// an earlier generation.
func (r *claimedRun) reject(id spec.HookID, owner sqlc.TokenOwnersRow, owned bool) {
	rejection := history.Rejection{Reason: history.RejectIDUsed}
	if owned && (owner.Run != r.ID || owner.HookID != string(id)) {
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

func (c *claim) tokenOwners(ctx context.Context, refused []newHook) (map[history.TokenDigest]sqlc.TokenOwnersRow, error) {
	var digests [][]byte
	for _, n := range refused {
		digests = append(digests, n.hook.Grant.Digest[:])
	}
	p := &pipeline{}
	rows := queueRows[sqlc.TokenOwnersRow](p, sqlc.TokenOwners, sqlc.TokenOwnersParams{TokenDigests: digests})
	if err := p.send(ctx, c.conn); err != nil {
		return nil, err
	}
	owners := make(map[history.TokenDigest]sqlc.TokenOwnersRow, len(*rows))
	for _, row := range *rows {
		owners[history.TokenDigest(row.TokenDigest)] = row
	}
	return owners, nil
}

// decideAgain runs the turns of these runs once more, on fresh states, after what the first try inserted is taken back.
func (c *claim) decideAgain(ctx context.Context, runs []*claimedRun) error {
	p := &pipeline{}
	takeBack(p, runs)
	if err := c.foldCold(ctx, p, runs); err != nil {
		return err
	}
	for _, r := range runs {
		c.decide(r)
	}
	return nil
}

// giveUp drops the runs whose hooks are still refused.
func (c *claim) giveUp(ctx context.Context) error {
	var stuck []*claimedRun
	for _, n := range c.newHooks() {
		if !slices.Contains(stuck, n.run) {
			stuck = append(stuck, n.run)
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	p := &pipeline{}
	takeBack(p, stuck)
	for _, r := range stuck {
		r.fail(history.BlockBudget, errHookRounds)
	}
	if p.batch.Len() == 0 {
		return nil
	}
	return p.send(ctx, c.conn)
}

// takeBack removes the hooks that this transaction inserted for the runs.
func takeBack(p *pipeline, runs []*claimedRun) {
	var params sqlc.TakeBackHooksParams
	for _, r := range runs {
		for id := range r.placed {
			params.Runs = append(params.Runs, r.ID)
			params.HookIds = append(params.HookIds, string(id))
		}
		r.placed = nil
	}
	if len(params.Runs) > 0 {
		p.exec(sqlc.TakeBackHooks, params)
	}
}
