package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrAPIKeyNotFound says that there is no such API key.
var ErrAPIKeyNotFound = errors.New("API key not found")

// APIKey is an API key as it is stored: never the key itself.
type APIKey struct {
	ID         string // public
	Digest     []byte // 32 bytes
	DigestKey  string // ID of the digest key that Digest is keyed with
	Namespace  spec.Namespace
	Name       string
	Scopes     []string
	RunID      spec.RunID  // the only run it may act on; empty: any
	HookID     spec.HookID // the only hook of that run; empty: any
	Signals    []string    // the only names it may send; nil: any, empty: none
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time // not exact: see TouchAPIKey
}

// Look-ups of API keys go together under load, as those of tokens do.
const (
	apiKeyLeaders = 2
	apiKeyBatch   = 128
)

// InsertAPIKey stores a new key. Errors: ErrUnavailable; *DatabaseError, also for an ID or a digest that is there.
func (s *Store) InsertAPIKey(ctx context.Context, k APIKey) error {
	return s.change(ctx, func(p *pipeline) {
		p.exec(sqlc.InsertAPIKey, sqlc.InsertAPIKeyParams{
			KeyID: k.ID, Digest: k.Digest, DigestKey: k.DigestKey, Namespace: string(k.Namespace), Name: k.Name, Scopes: k.Scopes,
			RunID: orNull(string(k.RunID)), HookID: orNull(string(k.HookID)), Signals: k.Signals,
			CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
		})
		s.auditDeed(ctx, p, AuditEntry{
			Namespace: k.Namespace, RunID: k.RunID, Kind: AuditKeyCreated, Name: auditText(k.Name), Identity: k.ID,
		})
	})
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// APIKeyByDigest reads the key that has one of these digests, whatever became of it. Errors: ErrAPIKeyNotFound,
// ErrUnavailable, *DatabaseError, and ctx's.
func (s *Store) APIKeyByDigest(ctx context.Context, digests [][]byte) (APIKey, error) {
	return foundKey(s.keysByDigest.get(ctx, digests))
}

// APIKeyByID reads a key, whatever became of it. Errors: those of APIKeyByDigest.
func (s *Store) APIKeyByID(ctx context.Context, id string) (APIKey, error) {
	return foundKey(s.keysByID.get(ctx, id))
}

func foundKey(row *sqlc.ApiKey, err error) (APIKey, error) {
	switch {
	case err != nil:
		return APIKey{}, err
	case row == nil:
		return APIKey{}, ErrAPIKeyNotFound
	}
	return apiKeyOf(*row), nil
}

// findKeys finds the keys of many callers; nil where there is none.
func (s *Store) findKeys(ctx context.Context, asked [][][]byte) ([]*sqlc.ApiKey, error) {
	rows, err := keyRows(ctx, s, sqlc.FindAPIKeys, sqlc.FindAPIKeysParams{Digests: slices.Concat(asked...)})
	if err != nil {
		return nil, err
	}
	byDigest := make(map[string]*sqlc.ApiKey, len(rows))
	for i, row := range rows {
		byDigest[string(row.Digest)] = &rows[i]
	}
	found := make([]*sqlc.ApiKey, len(asked))
	for i, digests := range asked {
		for _, d := range digests {
			if row := byDigest[string(d)]; row != nil {
				found[i] = row
			}
		}
	}
	return found, nil
}

// readKeys reads the keys of many IDs; nil where there is none.
func (s *Store) readKeys(ctx context.Context, ids []string) ([]*sqlc.ApiKey, error) {
	rows, err := keyRows(ctx, s, sqlc.ReadAPIKeys, sqlc.ReadAPIKeysParams{KeyIds: ids})
	if err != nil {
		return nil, err
	}
	found := make([]*sqlc.ApiKey, len(ids))
	for i, id := range ids {
		if at := slices.IndexFunc(rows, func(r sqlc.ApiKey) bool { return r.KeyID == id }); at >= 0 {
			found[i] = &rows[at]
		}
	}
	return found, nil
}

func keyRows(ctx context.Context, s *Store, sql string, params any) ([]sqlc.ApiKey, error) {
	ctx, cancel := context.WithTimeout(ctx, transactionTime)
	defer cancel()
	return lookUp[sqlc.ApiKey](ctx, s, sql, params)
}

// TouchAPIKey notes that a key was used, if that was noted before some time or never. Errors: ErrUnavailable,
// *DatabaseError.
func (s *Store) TouchAPIKey(ctx context.Context, id string, used, before time.Time) error {
	return s.change(ctx, func(p *pipeline) {
		p.exec(sqlc.TouchAPIKey, sqlc.TouchAPIKeyParams{UsedAt: used, KeyID: id, Before: before})
	})
}

// RevokeAPIKey ends a key for good, and returns it. A key that was revoked before keeps the first time. Errors:
// ErrAPIKeyNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) RevokeAPIKey(ctx context.Context, id string, at time.Time) (APIKey, error) {
	params := sqlc.RevokeAPIKeyParams{RevokedAt: at, KeyID: id}
	rows, err := changeAudited(ctx, s, sqlc.RevokeAPIKey, params, pgx.RowToStructByPos[sqlc.ApiKey], func(rows []sqlc.ApiKey) AuditEntry {
		k := apiKeyOf(rows[0])
		return AuditEntry{Namespace: k.Namespace, RunID: k.RunID, Kind: AuditKeyRevoked, Name: auditText(k.Name), Identity: k.ID}
	})
	switch {
	case err != nil:
		return APIKey{}, err
	case len(rows) == 0:
		return APIKey{}, ErrAPIKeyNotFound
	}
	return apiKeyOf(rows[0]), nil
}

// ListAPIKeys lists at most limit keys, revoked ones too, in order of their IDs and after one of them; all namespaces'
// where ns is empty. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) ListAPIKeys(ctx context.Context, ns spec.Namespace, after string, limit int) ([]APIKey, error) {
	rows, err := statements.ListAPIKeys(ctx, replanned{s.pool}, sqlc.ListAPIKeysParams{
		Namespace: string(ns), After: after, Count: int32(pageSize(limit)),
	})
	if err != nil {
		return nil, readError(err, nil)
	}
	keys := make([]APIKey, len(rows))
	for i, row := range rows {
		keys[i] = apiKeyOf(row)
	}
	return keys, nil
}

func apiKeyOf(row sqlc.ApiKey) APIKey {
	return APIKey{
		ID: row.KeyID, Digest: row.Digest, DigestKey: row.DigestKey, Namespace: spec.Namespace(row.Namespace), Name: row.Name,
		Scopes: row.Scopes, RunID: spec.RunID(orZero(row.RunID)), HookID: spec.HookID(orZero(row.HookID)), Signals: row.Signals,
		CreatedAt: row.CreatedAt.UTC(), ExpiresAt: utc(row.ExpiresAt), RevokedAt: utc(row.RevokedAt), LastUsedAt: utc(row.LastUsedAt),
	}
}
