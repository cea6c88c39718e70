package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrPageNotFound says that the hook has no page of the recipient.
var ErrPageNotFound = errors.New("page not found")

// Page is the link to a hook for one person, as it is stored: never its token.
type Page struct {
	Run       history.RunKey
	HookID    spec.HookID
	Recipient string
	Digest    history.TokenDigest
	DigestKey string
	MintKey   string
	Nonce     []byte // 16 bytes
}

// PageView is a page with its hook, as of the time it was read. Numbers in the data of its metadata are json.Number.
type PageView struct {
	HookView
	Recipient string
}

// KeepPage stores a page, unless its hook is not open, the recipient has one, or the hook has as many as room. It says nothing
// of which: ReadPage tells. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) KeepPage(ctx context.Context, p Page, room int) error {
	hook := sqlc.LockPageHookParams{Namespace: string(p.Run.Namespace), RunID: string(p.Run.RunID), HookID: string(p.HookID)}
	return s.change(ctx, func(in *pipeline) {
		in.exec(sqlc.LockPageHook, hook)
		in.exec(sqlc.InsertPage, sqlc.InsertPageParams{
			Recipient: p.Recipient, TokenDigest: p.Digest[:], DigestKey: p.DigestKey, MintKey: p.MintKey, Nonce: p.Nonce,
			Namespace: hook.Namespace, RunID: hook.RunID, HookID: hook.HookID, Room: int64(room),
		})
	})
}

// ReadPage reads the page of a recipient. Errors: ErrPageNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ReadPage(ctx context.Context, run history.RunKey, hook spec.HookID, recipient string) (Page, error) {
	row, err := lookUpOne[sqlc.Page](ctx, s, sqlc.ReadPage, sqlc.ReadPageParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID), HookID: string(hook), Recipient: recipient,
	}, ErrPageNotFound)
	if err != nil {
		return Page{}, err
	}
	p := Page{
		Run: run, HookID: hook, Recipient: row.Recipient, DigestKey: row.DigestKey, MintKey: row.MintKey,
		Nonce: slices.Clone(row.Nonce),
	}
	copy(p.Digest[:], row.TokenDigest)
	return p, nil
}

// ResolvePage finds the page that a token opens, in any namespace, by the token's digests under every loaded key. Errors:
// history.ErrTokenNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ResolvePage(ctx context.Context, digests []history.TokenDigest) (PageView, error) {
	raw := make([][]byte, len(digests))
	for i := range digests {
		raw[i] = digests[i][:]
	}
	row, err := lookUpOne[sqlc.ResolvePageRow](ctx, s, sqlc.ResolvePage, sqlc.ResolvePageParams{TokenDigests: raw}, history.ErrTokenNotFound)
	if err != nil {
		return PageView{}, err
	}
	view, err := hookView(sqlc.ReadHookRow{
		Hook: row.Hook, RunNamespace: row.RunNamespace, RunID: row.RunID, SpecDigest: row.SpecDigest, ReadAt: row.ReadAt,
	})
	if err == nil {
		err = exactly(row.Hook.Metadata, &view.Metadata)
	}
	return PageView{HookView: view, Recipient: row.Recipient}, err
}

// exactly reads metadata with the numbers of its data as they are stored: a person does not approve one that was rounded.
func exactly(stored []byte, into *spec.HookMetadata) error {
	*into = spec.HookMetadata{}
	dec := json.NewDecoder(bytes.NewReader(stored))
	dec.UseNumber()
	return dec.Decode(into)
}

// HookAnswer reads the answer to a hook, as it was received. Errors: history.ErrHookNotFound where it has none,
// ErrUnavailable, *DatabaseError.
func (s *Store) HookAnswer(ctx context.Context, run history.RunKey, hook spec.HookID) ([]byte, error) {
	row, err := lookUpOne[answerRow](ctx, s, sqlc.HookAnswer, sqlc.HookAnswerParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID), HookID: string(hook),
	}, history.ErrHookNotFound)
	return row.Payload, err
}

type answerRow struct{ Payload []byte }
