package db

import (
	"context"
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// HookView is a hook's record as of the time it was read. An active hook past its deadline shows as expired, without a
// time of resolution until a turn has recorded it.
type HookView struct {
	history.Hook
	Run        history.RunKey
	SpecDigest canon.Digest // of the run's spec
	ReadAt     time.Time    // by the database's clock
}

// HookFilter says which hooks to list. Empty fields pass everything.
type HookFilter struct {
	Namespace spec.Namespace // required
	Run       spec.RunID
	State     history.HookState // as shown: an active hook past its deadline is expired
	Labels    spec.Labels       // all of them
	OlderThan time.Duration     // since they were created, by the database's clock, to the microsecond
	Cursor    string            // of the page before
	Limit     int               // at most 1,000, default 50
}

// Hook reads a hook without a lock. Errors: history.ErrHookNotFound, also when there is no such run; ErrUnavailable;
// *DatabaseError.
func (s *Store) Hook(ctx context.Context, run history.RunKey, id spec.HookID) (HookView, error) {
	row, err := lookUpOne[sqlc.ReadHookRow](ctx, s, sqlc.ReadHook, sqlc.ReadHookParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID), HookID: string(id),
	}, history.ErrHookNotFound)
	if err != nil {
		return HookView{}, err
	}
	return hookView(row)
}

// ResolveToken finds the hook that answers to a token, in any namespace, by the token's digests under every loaded key.
// Errors: history.ErrTokenNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ResolveToken(ctx context.Context, digests []history.TokenDigest) (HookView, error) {
	row, err := s.tokens.get(ctx, digests)
	switch {
	case err != nil && errors.Is(err, ctx.Err()): // it was this caller that left
		return HookView{}, unavailable(err)
	case err != nil:
		return HookView{}, err
	case row == nil:
		return HookView{}, history.ErrTokenNotFound
	}
	view, err := hookView(*row)
	if err == nil {
		s.found.add(view.Run, view.Hook)
	}
	return view, err
}

const (
	// tokenLeaders is how many statements resolve tokens at a time, tokenBatch how many tokens one of them resolves.
	tokenLeaders = 2
	tokenBatch   = 256
)

// resolveTokens finds the hooks of many tokens, each given by its digests under every loaded key; nil where there is none.
func (s *Store) resolveTokens(ctx context.Context, tokens [][]history.TokenDigest) ([]*sqlc.ReadHookRow, error) {
	ctx, cancel := context.WithTimeout(ctx, transactionTime)
	defer cancel()
	var raw [][]byte
	for _, digests := range tokens {
		for _, d := range digests {
			raw = append(raw, d[:])
		}
	}
	rows, err := lookUp[sqlc.ReadHookRow](ctx, s, sqlc.ResolveTokens, sqlc.ResolveTokensParams{TokenDigests: raw})
	if err != nil {
		return nil, err
	}
	byDigest := make(map[string]*sqlc.ReadHookRow, len(rows))
	for i, row := range rows {
		byDigest[string(row.Hook.TokenDigest)] = &rows[i]
	}
	found := make([]*sqlc.ReadHookRow, len(tokens))
	for i, digests := range tokens {
		for _, d := range digests {
			if row := byDigest[string(d[:])]; row != nil && (found[i] == nil || row.Hook.ID < found[i].Hook.ID) {
				found[i] = row // of several, the first one that was created
			}
		}
	}
	return found, nil
}

// ListHooks lists hooks of one namespace, or of one run of it, those created last first, without a lock. The cursor for
// the next page is empty on the last one. Errors: *spec.InvalidError for a bad cursor or label, ErrUnavailable,
// *DatabaseError.
func (s *Store) ListHooks(ctx context.Context, f HookFilter) (hooks []HookView, next string, err error) {
	before, err := hookCursor.before(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	labels, err := labelFilter(f.Labels)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(f.Limit)
	rows, err := s.listHooks(ctx, sqlc.ListRunHooksParams{
		Namespace: string(f.Namespace), RunID: string(f.Run), Before: before, State: string(f.State),
		OlderMicros: max(f.OlderThan.Microseconds(), 0), Labels: labels, Count: int64(limit) + 1,
	}, len(f.Labels) > 0)
	if err != nil {
		return nil, "", readError(err, nil)
	}
	rows, next = page(rows, limit, hookCursor, func(r sqlc.ReadHookRow) int64 { return r.Hook.ID })
	for _, row := range rows {
		view, err := hookView(row)
		if err != nil {
			return nil, "", err
		}
		hooks = append(hooks, view)
	}
	return hooks, next, nil
}

// listHooks chooses the statement whose index serves the filter.
func (s *Store) listHooks(ctx context.Context, f sqlc.ListRunHooksParams, labelled bool) ([]sqlc.ReadHookRow, error) {
	on := replanned{s.pool}
	switch {
	case f.RunID != "":
		rows, err := statements.ListRunHooks(ctx, on, f)
		return hookRows(rows, func(r sqlc.ListRunHooksRow) sqlc.ReadHookRow { return sqlc.ReadHookRow(r) }), err
	case labelled:
		rows, err := statements.ListLabelledHooks(ctx, on, sqlc.ListLabelledHooksParams{
			Namespace: f.Namespace, Before: f.Before, State: f.State, OlderMicros: f.OlderMicros, Labels: f.Labels, Count: f.Count,
		})
		return hookRows(rows, func(r sqlc.ListLabelledHooksRow) sqlc.ReadHookRow { return sqlc.ReadHookRow(r) }), err
	}
	rows, err := statements.ListHooks(ctx, on, sqlc.ListHooksParams{
		Namespace: f.Namespace, Before: f.Before, State: f.State, OlderMicros: f.OlderMicros, Count: f.Count,
	})
	return hookRows(rows, func(r sqlc.ListHooksRow) sqlc.ReadHookRow { return sqlc.ReadHookRow(r) }), err
}

func hookRows[R any](rows []R, read func(R) sqlc.ReadHookRow) []sqlc.ReadHookRow {
	out := make([]sqlc.ReadHookRow, len(rows))
	for i, row := range rows {
		out[i] = read(row)
	}
	return out
}

func hookView(row sqlc.ReadHookRow) (HookView, error) {
	hook, err := hookRecord(row.Hook)
	if err != nil {
		return HookView{}, err
	}
	digest, err := canon.FromBytes(row.SpecDigest)
	if err != nil {
		return HookView{}, err
	}
	view := HookView{
		Hook: hook, SpecDigest: digest, ReadAt: row.ReadAt.UTC(),
		Run: history.RunKey{Namespace: spec.Namespace(row.RunNamespace), RunID: spec.RunID(row.RunID)},
	}
	if hook.Expired(view.ReadAt) {
		view.State = history.StateExpired
	}
	return view, nil
}
