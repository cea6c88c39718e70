package db

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// KeyKind says what a token key is for.
type KeyKind string

// The kinds of keys.
const (
	MintKey   KeyKind = "mint"   // tokens are derived with it
	DigestKey KeyKind = "digest" // tokens and API keys are looked up by digests under it
	SignKey   KeyKind = "sign"   // signed tokens of our own are made with it
)

// KeyCheck is a loaded key: its ID, and a value that two keys share only if they are the same. The key itself never
// comes here.
type KeyCheck struct {
	Kind  KeyKind
	ID    string
	Check []byte
}

// KeyMismatchError says that a process has another key under a known ID, so that its tokens would not be those of others.
type KeyMismatchError struct {
	Kind KeyKind
	ID   string
}

// Error implements error.
func (e *KeyMismatchError) Error() string {
	return fmt.Sprintf("%s key %q is not the one that this database was used with", e.Kind, e.ID)
}

// KeyMissingError says that a hook, a page or an API key uses a key that is not loaded, so that it would be unknown.
type KeyMissingError struct {
	Kind KeyKind
	ID   string
}

// Error implements error.
func (e *KeyMissingError) Error() string {
	return fmt.Sprintf("%s key %q is used by hooks, pages or API keys of this database and is not loaded", e.Kind, e.ID)
}

// CheckKeys compares the keys of a process with those the database was used with, and remembers the new ones. It must
// succeed before the process mints or looks up a token. Its cost does not depend on the number of hooks. Errors:
// *KeyMismatchError and *KeyMissingError, which remember nothing; ErrUnavailable; *DatabaseError.
func (s *Store) CheckKeys(ctx context.Context, loaded []KeyCheck) error {
	return s.checkKeys(ctx, loaded, func(p *pipeline) func() error {
		used := queueUsedKeys(p)
		return func() error { return hooksServed(loaded, used()) }
	})
}

// CheckAccessKeys is CheckKeys for a process, or a part of one, that handles credentials of callers: the keys that sign
// and the digest keys of API keys. Those that hooks are looked up with must be among them as well: a set without them is not
// that of the processes on this database, which would not know an API key that is made with it, nor start again.
func (s *Store) CheckAccessKeys(ctx context.Context, loaded []KeyCheck) error {
	return s.checkKeys(ctx, loaded, func(p *pipeline) func() error {
		used := queueValues[string](p, sqlc.KeysOfAPIKeys, nil)
		ofHooks := queueUsedKeys(p)
		return func() error {
			for _, pair := range ofHooks() {
				*used = append(*used, pair.DigestKey)
			}
			for _, id := range *used {
				if !loads(loaded, DigestKey, id) {
					return &KeyMissingError{Kind: DigestKey, ID: id}
				}
			}
			return nil
		}
	})
}

// checkKeys compares keys and asks, in the same transaction, whether they serve what uses them.
func (s *Store) checkKeys(ctx context.Context, loaded []KeyCheck, serving func(*pipeline) func() error) error {
	var params sqlc.InsertKeysParams
	for _, k := range loaded {
		params.Kinds = append(params.Kinds, string(k.Kind))
		params.KeyIds = append(params.KeyIds, k.ID)
		params.CheckValues = append(params.CheckValues, k.Check)
	}
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		p.exec(sqlc.InsertKeys, params)
		stored := queueRows[sqlc.ListKeysRow](p, sqlc.ListKeys, nil)
		served := serving(p)
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		if err := compareKeys(loaded, *stored); err != nil {
			return err
		}
		if err := served(); err != nil {
			return err
		}
		p = &pipeline{}
		p.commit()
		return p.send(ctx, conn)
	})
	return translate(err)
}

func compareKeys(loaded []KeyCheck, stored []sqlc.ListKeysRow) error {
	for _, k := range stored {
		at := slices.IndexFunc(loaded, func(l KeyCheck) bool { return string(l.Kind) == k.Kind && l.ID == k.KeyID })
		if at >= 0 && !bytes.Equal(loaded[at].Check, k.CheckValue) {
			return &KeyMismatchError{Kind: KeyKind(k.Kind), ID: k.KeyID}
		}
	}
	return nil
}

// queueUsedKeys asks for the pairs of keys that hooks and their pages use.
func queueUsedKeys(p *pipeline) func() []sqlc.UsedKeysRow {
	hooks := queueRows[sqlc.UsedKeysRow](p, sqlc.UsedKeys, nil)
	pages := queueRows[sqlc.UsedPageKeysRow](p, sqlc.UsedPageKeys, nil)
	return func() []sqlc.UsedKeysRow {
		used := slices.Clone(*hooks)
		for _, pair := range *pages {
			used = append(used, sqlc.UsedKeysRow(pair))
		}
		return used
	}
}

// hooksServed says whether the keys that hooks and pages use are loaded.
func hooksServed(loaded []KeyCheck, used []sqlc.UsedKeysRow) error {
	for _, pair := range used {
		if !loads(loaded, DigestKey, pair.DigestKey) {
			return &KeyMissingError{Kind: DigestKey, ID: pair.DigestKey}
		}
		if pair.MintKey != "" && !loads(loaded, MintKey, pair.MintKey) {
			return &KeyMissingError{Kind: MintKey, ID: pair.MintKey}
		}
	}
	return nil
}

func loads(loaded []KeyCheck, kind KeyKind, id string) bool {
	return slices.ContainsFunc(loaded, func(k KeyCheck) bool { return k.Kind == kind && k.ID == id })
}
