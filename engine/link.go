package engine

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Link is the way to answer a hook: whoever has it, may. The URL holds the token: neither belongs in a log.
type Link struct {
	Token     tokens.Secret
	URL       tokens.Secret
	TokenID   string // names the token to people, without giving it away
	ExpiresAt *time.Time
}

// defaultRoute is where a hook is answered whose metadata names no route.
const defaultRoute = "/callbacks/flow/hooks/" + tokenPlace

const tokenPlace = "{token}"

// HookLink makes the link of an open hook: the same one on every call and in every process that has the mint key. No
// table, event or log holds it.
//
// Errors: *InvalidError; ErrHookNotFound, also where there is no such run; *HookConflictError when the hook was answered,
// *HookClosedError when it closed or its deadline is past; ErrTokenNotMinted when the host supplied the token;
// ErrNoPublicURL; ErrUnavailable.
func (h *Handle) HookLink(ctx context.Context, run spec.RunID, id spec.HookID) (Link, error) {
	key, err := h.hook(HookRequest{RunID: run, HookID: id})
	if err != nil {
		return Link{}, err
	}
	view, err := h.e.store.Hook(ctx, key, id)
	if err != nil {
		return Link{}, err
	}
	if err := stillOpen(view); err != nil {
		return Link{}, err
	}
	if view.Hook.Grant.MintKey == "" {
		return Link{}, ErrTokenNotMinted
	}
	if h.e.base == nil {
		return Link{}, ErrNoPublicURL
	}
	token, err := remint(h.e.cfg.Keys, view.Run, view.Hook)
	if err != nil {
		return Link{}, err
	}
	if err := h.noteToken(ctx, run, id, string(id)); err != nil {
		return Link{}, err
	}
	return Link{
		Token: token, URL: h.e.linkTo(view.Hook, token), TokenID: view.Hook.Grant.Digest.TokenID(),
		ExpiresAt: view.Hook.ExpiresAt,
	}, nil
}

// stillOpen refuses a hook that ended; the store shows one past its deadline as expired.
func stillOpen(h db.HookView) error {
	switch h.State {
	case history.StateActive:
		return nil
	case history.StateResumed:
		return &HookConflictError{Differs: []string{"state"}}
	default:
		return &HookClosedError{Cause: h.State}
	}
}

// remint makes a hook's token again.
func remint(keys *tokens.Keyring, run history.RunKey, h history.Hook) (tokens.Secret, error) {
	var nonce tokens.Nonce
	copy(nonce[:], h.Grant.Nonce)
	token, err := keys.Remint(h.Grant.MintKey, binding(run, h.ID), nonce)
	if err != nil {
		return tokens.Secret{}, fmt.Errorf("%w: mint key %q of the hook is not loaded", ErrUnavailable, h.Grant.MintKey)
	}
	return token, nil
}

// binding is what a hook's token is derived from, beside the key and the nonce.
func binding(run history.RunKey, id spec.HookID) tokens.Binding {
	return tokens.Binding{Namespace: string(run.Namespace), RunID: string(run.RunID), HookID: string(id)}
}

// linkTo puts the token into the hook's route under the public base.
func (e *Engine) linkTo(h history.Hook, token tokens.Secret) tokens.Secret {
	route := defaultRoute
	if r := h.Metadata.Route; r != nil {
		route = r.Path
	}
	return tokens.NewSecret(strings.TrimSuffix(e.base.String(), "/") + strings.ReplaceAll(route, tokenPlace, token.Reveal()))
}

// parseBase reads Config.PublicURL.
func parseBase(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	invalid := func(rule string) error { return &InvalidError{Field: "public_url", Rule: rule} }
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, invalid("must be a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return nil, invalid("must be an absolute http or https URL")
	case u.User != nil:
		return nil, invalid("must hold no user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, invalid("must hold no query and no fragment")
	}
	return u, nil
}
