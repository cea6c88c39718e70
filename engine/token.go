package engine

import (
	"context"
	"errors"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// TokenRequest answers or withdraws the hook that a token belongs to. Source and Actor are optional, at most 255 bytes
// each.
type TokenRequest struct {
	Token   string
	Payload []byte // JSON; ignored by DisposeHookByToken
	Source  string
	Actor   string
	// Proof is what the caller proved beside holding the token, and whoever calls this has verified. A *FactorError says
	// what is wanted, and of which hook.
	Proof spec.Proof
	// Found, if set, is called once the token is known to belong to a hook of a namespace, and before anything is decided.
	// Its error is the answer, and nothing has happened then. It does not mean that the caller may use the token.
	Found func(spec.Namespace) error
}

// ResumeHookByToken answers a hook of any namespace, for a caller who holds its token and nothing else. It is idempotent
// as Handle.ResumeHook is. The receipt names the run: do not show it to that caller.
//
// Errors: those of ResumeHook, but ErrTokenNotFound in place of every error about what is not there. It is the same
// error for a token that is malformed, unknown, or of an internal hook. *FactorError where the hook asks for more than its
// token; it comes before everything that is known of the hook.
func (e *Engine) ResumeHookByToken(ctx context.Context, req TokenRequest) (Receipt, error) {
	return e.resumeByToken(ctx, req, stranger)
}

// DisposeHookByToken withdraws a hook of any namespace, for a caller who holds its token and nothing else, where the
// hook's declaration is DisposableByToken; else it answers ErrDisposeForbidden. Its other errors are those of
// DisposeHook, but ErrTokenNotFound and *FactorError as for ResumeHookByToken.
func (e *Engine) DisposeHookByToken(ctx context.Context, req TokenRequest) (Receipt, error) {
	return e.disposeByToken(ctx, req, stranger)
}

// ResumeHookByToken answers a hook of this namespace for an authorised caller who has only its token at hand: internal
// hooks too. A token of another namespace is ErrTokenNotFound.
func (h *Handle) ResumeHookByToken(ctx context.Context, req TokenRequest) (Receipt, error) {
	return h.e.resumeByToken(ctx, req, holder{ns: h.ns})
}

// DisposeHookByToken withdraws a hook of this namespace for an authorised caller who has only its token at hand,
// whatever the hook's declaration allows its token. A token of another namespace is ErrTokenNotFound.
func (h *Handle) DisposeHookByToken(ctx context.Context, req TokenRequest) (Receipt, error) {
	return h.e.disposeByToken(ctx, req, holder{ns: h.ns})
}

// holder is who shows a token: an authorised caller of a namespace, or a stranger, for whom the hook's own declaration
// decides.
type holder struct{ ns spec.Namespace }

var stranger holder

func (o holder) isStranger() bool { return o == stranger }

func (e *Engine) resumeByToken(ctx context.Context, req TokenRequest, who holder) (r Receipt, err error) {
	defer func() { e.figures.received(MessageHook, r.Verdict, err) }()
	if err := checkSource(req.Source, req.Actor); err != nil {
		return Receipt{}, err
	}
	payload, err := canon.Parse(req.Payload, e.cfg.Limits.payload())
	if err != nil {
		return Receipt{}, err
	}
	return e.byToken(ctx, req, who, func(key history.RunKey, id spec.HookID) history.Message {
		return &history.ResumeHook{
			Run: key, HookID: id, Payload: payload, ByToken: who.isStranger(), Proof: req.Proof, Source: req.Source, Actor: req.Actor,
		}
	})
}

func (e *Engine) disposeByToken(ctx context.Context, req TokenRequest, who holder) (r Receipt, err error) {
	defer func() { e.figures.received(MessageDispose, r.Verdict, err) }()
	if err := checkSource(req.Source, req.Actor); err != nil {
		return Receipt{}, err
	}
	return e.byToken(ctx, req, who, func(key history.RunKey, id spec.HookID) history.Message {
		return &history.DisposeHook{
			Run: key, HookID: id, ByToken: who.isStranger(), Proof: req.Proof, Source: req.Source, Actor: req.Actor,
		}
	})
}

// byToken resolves a token and sends the message that is for its hook. Whatever is not there is one error.
func (e *Engine) byToken(
	ctx context.Context, req TokenRequest, who holder, message func(history.RunKey, spec.HookID) history.Message,
) (Receipt, error) {
	token, err := tokens.Parse(req.Token)
	if err != nil {
		return Receipt{}, e.unresolved(tokenMalformed)
	}
	digests := e.cfg.Keys.Digests(token)
	stored := make([]history.TokenDigest, len(digests))
	for i, d := range digests {
		stored[i] = history.TokenDigest(d)
	}
	hook, err := e.store.ResolveToken(ctx, stored)
	if errors.Is(err, ErrTokenNotFound) {
		return Receipt{}, e.unresolved(tokenUnknown)
	}
	if err != nil {
		return Receipt{}, err
	}
	if !who.isStranger() && hook.Run.Namespace != who.ns {
		return Receipt{}, e.unresolved(tokenForeign)
	}
	if req.Found != nil {
		if err := req.Found(hook.Run.Namespace); err != nil {
			return Receipt{}, err
		}
	}
	receipt, err := e.accept(ctx, message(hook.Run, hook.ID))
	switch {
	case errors.Is(err, ErrRunNotFound), errors.Is(err, ErrHookNotFound):
		return Receipt{}, e.unresolved(tokenUnknown)
	case errors.Is(err, ErrTokenNotFound):
		return Receipt{}, e.unresolved(tokenInternal)
	}
	return receipt, err
}

// unresolved counts a token that stands for nothing. Its holder is not told why.
func (e *Engine) unresolved(why string) error {
	e.figures.unresolved.Add(why)
	return ErrTokenNotFound
}
