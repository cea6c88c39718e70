package db

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// KeyKind says what a token key is for.
type KeyKind string

// The kinds of keys.
const (
	MintKey   KeyKind = "mint"   // tokens are derived with it
	DigestKey KeyKind = "digest" // tokens are looked up by digests under it
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

// KeyMissingError says that a hook uses a key that is not loaded, so that its token would be unknown.
type KeyMissingError struct {
	Kind KeyKind
	ID   string
}

// Error implements error.
func (e *KeyMissingError) Error() string {
	return fmt.Sprintf("%s key %q is used by hooks of this database and is not loaded", e.Kind, e.ID)
}

// CheckKeys compares the keys of a process with those the database was used with, and remembers the new ones. It must
// succeed before the process mints or looks up a token. Its cost does not depend on the number of hooks. Errors:
// *KeyMismatchError and *KeyMissingError, which remember nothing; ErrUnavailable; *DatabaseError.
func (s *Store) CheckKeys(ctx context.Context, loaded []KeyCheck) error {
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
		used := queueRows[sqlc.UsedKeysRow](p, sqlc.UsedKeys, nil)
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		if err := compareKeys(loaded, *stored, *used); err != nil {
			return err
		}
		p = &pipeline{}
		p.commit()
		return p.send(ctx, conn)
	})
	return translate(err)
}

func compareKeys(loaded []KeyCheck, stored []sqlc.ListKeysRow, used []sqlc.UsedKeysRow) error {
	type name struct {
		kind KeyKind
		id   string
	}
	checks := make(map[name][]byte, len(loaded))
	for _, k := range loaded {
		checks[name{k.Kind, k.ID}] = k.Check
	}
	for _, k := range stored {
		check, ok := checks[name{KeyKind(k.Kind), k.KeyID}]
		if ok && !bytes.Equal(check, k.CheckValue) {
			return &KeyMismatchError{Kind: KeyKind(k.Kind), ID: k.KeyID}
		}
	}
	for _, pair := range used {
		if _, ok := checks[name{DigestKey, pair.DigestKey}]; !ok {
			return &KeyMissingError{Kind: DigestKey, ID: pair.DigestKey}
		}
		if _, ok := checks[name{MintKey, pair.MintKey}]; !ok && pair.MintKey != "" {
			return &KeyMissingError{Kind: MintKey, ID: pair.MintKey}
		}
	}
	return nil
}
