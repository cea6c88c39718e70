package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// PageLink is the way to the approval page of a hook for one person. Whoever has it decides in that person's name: the URL
// belongs in no log, and in the hands of the recipient only.
type PageLink struct {
	Token     tokens.Secret
	URL       tokens.Secret
	TokenID   string // names the link to people, without giving it away
	Recipient string
	ExpiresAt *time.Time // of the hook
}

// pageRoute is where pages are, under the public base; the token follows.
const pageRoute = "/approvals/"

// PageLink makes the link to the approval page of an open hook for a recipient: the stable name of a person, which history
// will name as the actor of the decision. It is the same link on every call and in every process that has the mint key; no
// table, event or log holds it. Hooks of either audience have pages, since a page is for a person who was named.
//
// A hook has a page for one person, or for as many as a rule with one needed names; see spec.HookMetadata.WithRule.
//
// Errors: *InvalidError, also for a recipient who is one too many, and for a hook that asks for a second factor, which a page
// does not prove; ErrHookNotFound, also where there is no such run; *HookConflictError when the hook was answered,
// *HookClosedError when it closed or its deadline is past; ErrNoPublicURL; ErrUnavailable.
func (h *Handle) PageLink(ctx context.Context, run spec.RunID, id spec.HookID, recipient string) (PageLink, error) {
	key, err := h.hook(HookRequest{RunID: run, HookID: id})
	if err != nil {
		return PageLink{}, err
	}
	if err := spec.CheckPerson("recipient", recipient); err != nil {
		return PageLink{}, err
	}
	view, err := h.e.store.Hook(ctx, key, id)
	if err != nil {
		return PageLink{}, err
	}
	if err := stillOpen(view); err != nil {
		return PageLink{}, err
	}
	if err := h.e.takesPages(ctx, view); err != nil {
		return PageLink{}, err
	}
	if h.e.base == nil {
		return PageLink{}, ErrNoPublicURL
	}
	page, err := h.e.pageOf(ctx, view, recipient)
	if err != nil {
		return PageLink{}, err
	}
	if err := h.noteToken(ctx, run, id, recipient); err != nil {
		return PageLink{}, err
	}
	return h.e.pageLink(page, view)
}

// takesPages refuses a hook whose token is not enough: a page would be a way around its second factor.
func (e *Engine) takesPages(ctx context.Context, view db.HookView) error {
	auth, err := e.authorityOf(ctx, view.SpecDigest)
	if err != nil {
		return err
	}
	if auth.Hook(view.Name).Requires != "" {
		return &InvalidError{Field: "hook_id", Rule: "must not be of a hook that asks for a second factor, which a page does not prove"}
	}
	return nil
}

// pageOf finds the page of a recipient, or makes it.
func (e *Engine) pageOf(ctx context.Context, view db.HookView, recipient string) (db.Page, error) {
	page, err := e.store.ReadPage(ctx, view.Run, view.ID, recipient)
	if !errors.Is(err, db.ErrPageNotFound) {
		return page, err
	}
	nonce, err := tokens.NewNonce(e.cfg.Random)
	if err != nil {
		return db.Page{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	minted := e.cfg.Keys.MintPage(pageBinding(view.Run, view.ID, recipient), nonce)
	digestKey, digest := e.cfg.Keys.Digest(minted.Token)
	room := view.Metadata.Recipients()
	err = e.store.KeepPage(ctx, db.Page{
		Run: view.Run, HookID: view.ID, Recipient: recipient, Digest: history.TokenDigest(digest), DigestKey: digestKey,
		MintKey: minted.KeyID, Nonce: nonce[:],
	}, room)
	if err != nil {
		return db.Page{}, err
	}
	page, err = e.store.ReadPage(ctx, view.Run, view.ID, recipient)
	if errors.Is(err, db.ErrPageNotFound) {
		return db.Page{}, e.noPage(ctx, view, room)
	}
	return page, err
}

// noPage says why a page was not made.
func (e *Engine) noPage(ctx context.Context, view db.HookView, room int) error {
	now, err := e.store.Hook(ctx, view.Run, view.ID)
	if err != nil {
		return err
	}
	if err := stillOpen(now); err != nil {
		return err
	}
	return &InvalidError{Field: "recipient", Rule: fmt.Sprintf(
		"must be one of the %d who have a page of the hook; for more people its metadata says how many of them are needed", room)}
}

func (e *Engine) pageLink(page db.Page, view db.HookView) (PageLink, error) {
	var nonce tokens.Nonce
	copy(nonce[:], page.Nonce)
	token, err := e.cfg.Keys.RemintPage(page.MintKey, pageBinding(page.Run, page.HookID, page.Recipient), nonce)
	if err != nil {
		return PageLink{}, fmt.Errorf("%w: mint key %q of the page is not loaded", ErrUnavailable, page.MintKey)
	}
	return PageLink{
		Token:   token,
		URL:     tokens.NewSecret(strings.TrimSuffix(e.base.String(), "/") + pageRoute + token.Reveal()),
		TokenID: page.Digest.TokenID(), Recipient: page.Recipient, ExpiresAt: view.ExpiresAt,
	}, nil
}

func pageBinding(run history.RunKey, id spec.HookID, recipient string) tokens.PageBinding {
	return tokens.PageBinding{Binding: binding(run, id), Recipient: recipient}
}
