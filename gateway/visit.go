package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// visit is one use of a hook's token by a stranger, from the look at the token until the answer.
type visit struct {
	limiter *limiter
	call    *call
	ctx     context.Context
	key     tokenKey
	known   bool // it was found before
	found   bool // it was found now
	onTrust bool // it is looked up for an address that is no suspect
	ns      spec.Namespace
	held    []*throttle.Bucket // pays for the look-up if nothing is found
	hook    *throttle.Bucket   // pays for the answer, unless it is that we are in trouble
}

// visit admits a token as far as that can be said without a look-up. Whoever gets a visit ends it.
func (l *limiter) visit(ctx context.Context, k *call, token string) (*visit, error) {
	return l.visitWith(ctx, k, token, tokens.Parse)
}

// visitPage is visit for the token of a page.
func (l *limiter) visitPage(ctx context.Context, k *call, token string) (*visit, error) {
	return l.visitWith(ctx, k, token, tokens.ParsePage)
}

func (l *limiter) visitWith(ctx context.Context, k *call, token string, parse func(string) (tokens.Secret, error)) (*visit, error) {
	if _, err := parse(token); err != nil {
		return nil, refuse(notFound)
	}
	v := &visit{limiter: l, call: k, ctx: ctx, key: sha256.Sum256([]byte(token))}
	if v.ns, v.known = l.known.Get(v.key); v.known {
		k.trusted = true
		return v, v.admit(v.ns)
	}
	return v, v.lookUp(l.clock())
}

// visitKey is visit for an API key, which its text or its holder stands for. It is not trusted before it was looked up: it may be
// revoked.
func (l *limiter) visitKey(ctx context.Context, k *call, key string) (*visit, error) {
	v := &visit{limiter: l, call: k, ctx: ctx, key: sha256.Sum256([]byte(key))}
	if _, v.known = l.known.Get(v.key); v.known {
		// It is looked up each time, before its holder's limit can be: twice that bounds it.
		if wait, ok := l.apiKeys.Take(v.key, l.clock()); !ok {
			return v, l.refuse(limitPrincipal, wait)
		}
		return v, nil
	}
	return v, v.lookUp(l.clock())
}

// lookUp asks whether a token may be looked up that nobody has shown here before. The addresses that have been wrong often
// enough have a budget of their own for that, so that they cannot spend the one of the others.
func (v *visit) lookUp(now time.Time) error {
	l, peer := v.limiter, v.call.peer
	if !l.suspect(peer, now) {
		v.onTrust = true
		return v.hold(limitLookups, now, l.lookups)
	}
	return v.hold(limitSuspects, now, l.suspects.Bucket(siteOf(peer), now), l.suspectLookups)
}

func (v *visit) hold(which limit, now time.Time, buckets ...*throttle.Bucket) error {
	for _, b := range buckets {
		wait, ok := b.Hold(now)
		if !ok {
			return v.limiter.refuse(which, wait)
		}
		v.held = append(v.held, b)
	}
	return nil
}

// admit applies the limits of a token that is there.
func (v *visit) admit(ns spec.Namespace) error {
	v.ns, v.found, v.call.of = ns, true, ns
	l, now := v.limiter, v.limiter.clock()
	if !l.limits.Hook.IsUnlimited() {
		hook := l.hooks.Bucket(v.key, now)
		wait, ok := hook.Hold(now)
		if !ok {
			return l.refuse(limitHook, wait)
		}
		v.hook = hook
	}
	return l.message(v.ctx, v.call, ns, now)
}

// end settles what the look-up costs and keeps what was learnt. err is the answer of the engine.
func (v *visit) end(err error) {
	unknown := errors.Is(err, engine.ErrTokenNotFound) || errors.Is(err, access.ErrRefused)
	now := v.limiter.clock()
	for _, b := range v.held {
		b.Settle(now, unknown)
	}
	if v.hook != nil {
		v.hook.Settle(now, err == nil || translate(err).problem.status < http.StatusInternalServerError)
	}
	switch {
	case unknown:
		v.call.lookedUp, v.call.owes = true, v.onTrust
		v.limiter.known.Forget(v.key)
	case v.found && !v.known:
		v.call.trusted = true
		v.limiter.known.Set(v.key, v.ns)
	}
}

// byToken has the engine do what who holds a token asks for. Where the hook asks for more, that is verified, and the engine
// asked again: nobody is asked for a second factor who does not hold the first one.
func (g *Gateway) byToken(
	c *fiber.Ctx, k *call, req engine.TokenRequest, scope access.Scope,
	use func(context.Context, engine.TokenRequest) (engine.Receipt, error),
) (r engine.Receipt, err error) {
	ctx, kind := c.UserContext(), engine.MessageHook
	if scope == access.HooksDispose {
		kind = engine.MessageDispose
	}
	v, err := g.limiter.visit(ctx, k, req.Token)
	if v != nil {
		defer func() { v.end(err) }()
	} else { // it is none
		g.engine.NoteMalformedToken(kind)
	}
	if err != nil {
		return r, err
	}
	if !v.known {
		req.Found = v.admit
	}
	r, err = use(ctx, req)
	wanted, ok := errors.AsType[*engine.FactorError](err)
	if !ok {
		return r, err
	}
	req.Found = nil // its limits are applied
	if err := g.prove(c, k, scope, wanted, &req); err != nil {
		g.noteUnproven(kind, err)
		return engine.Receipt{}, err
	}
	return use(c.UserContext(), req) // which knows by now who it is
}
