package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/spec"
)

// authenticator says who makes a request, or refuses it for the want of a credential.
type authenticator func(c *fiber.Ctx, k *call) (access.Principal, error)

// The challenges of RFC 6750 section 3: an error is named only to who sent a token.
const (
	challengeBearer  = "Bearer"
	challengeInvalid = `Bearer error="invalid_token"`
	challengeScope   = `Bearer error="insufficient_scope", scope="%s"`
)

// byCredential says who a bearer credential is of. An open API asks nobody who sends none; what is sent is verified all the
// same, so that a client that is set up to be somebody is never silently anybody.
func (g *Gateway) byCredential(c *fiber.Ctx, k *call) (access.Principal, error) {
	if g.config.OpenAPI && len(c.Request().Header.PeekAll(fiber.HeaderAuthorization)) == 0 {
		return access.Anybody(), nil
	}
	credential, ok := bearerOf(c)
	if !ok {
		k.barred = authMissing
		return access.Principal{}, &refusal{problem: unauthorized, challenge: challengeBearer}
	}
	return g.whoIs(c, k, credential)
}

// whoIs verifies a credential.
func (g *Gateway) whoIs(c *fiber.Ctx, k *call, credential string) (who access.Principal, err error) {
	invalid := &refusal{problem: unauthorized, challenge: challengeInvalid}
	if g.config.Access == nil {
		return access.Principal{}, invalid
	}
	err = g.withCredential(c.UserContext(), k, func(admit access.Admit) (spec.Namespace, error) {
		who, err = g.config.Access.VerifyAdmitted(c.UserContext(), credential, admit)
		return who.Namespace, err
	})
	if errors.Is(err, access.ErrRefused) {
		return access.Principal{}, invalid
	}
	return who, err
}

// withCredential has a credential used, which tells its namespace if it is good. One that has to be looked up, itself or the
// key that it was exchanged for, is counted as a token of a hook is: a stranger cannot have the database asked as often as it
// likes.
func (g *Gateway) withCredential(
	ctx context.Context, k *call, use func(access.Admit) (spec.Namespace, error),
) (err error) {
	var v *visit
	var ns spec.Namespace
	defer func() {
		if v != nil {
			v.ns, v.found = ns, ns != ""
			v.end(err)
		}
	}()
	ns, err = use(func(key string) (err error) {
		v, err = g.limiter.visitKey(ctx, k, key)
		return err
	})
	k.noteRefused(err)
	return err
}

// noteRefused keeps for the log why a credential is none. Its sender is not told.
func (k *call) noteRefused(err error) {
	if bad, ok := errors.AsType[*access.RefusedError](err); ok {
		k.refused = bad.Reason
	}
}

// bearerOf returns the bearer credential of a request (RFC 6750 section 2.1). A repeated header was refused before.
func bearerOf(c *fiber.Ctx) (string, bool) {
	scheme, credential, _ := strings.Cut(string(c.Request().Header.Peek(fiber.HeaderAuthorization)), " ")
	return credential, strings.EqualFold(scheme, "Bearer") && credential != ""
}

// identify sets the caller of an API route and the use cases of its namespace. Nothing was looked up yet that the request
// names: what is outside of the caller's constraints is as if it were not there.
func (g *Gateway) identify(c *fiber.Ctx, k *call, r route) error {
	if r.needs == "" {
		return nil
	}
	who, err := g.authenticate(c, k)
	if err != nil {
		return err
	}
	k.who, k.authenticated, k.trusted, k.of = who, true, true, who.Namespace
	r.needs = k.needs(r)
	for _, scope := range []access.Scope{r.needs, r.also} {
		if scope != "" && !who.Has(scope) {
			k.barred = authScope
			return &refusal{problem: forbidden, challenge: fmt.Sprintf(challengeScope, r.scopes())}
		}
	}
	if err := k.within(who, r); err != nil {
		return err
	}
	k.handle, err = g.engine.Namespace(who.Namespace)
	return err
}

// needs is the scope that a request asks for. A dead letter that is a message is of no run.
func (k *call) needs(r route) access.Scope {
	if r.needs == access.RunsCancel && inbox.IsLetterID(k.letter) {
		return access.IngressAdmin
	}
	return r.needs
}

// scopes lists what a route asks for.
func (r route) scopes() string {
	if r.also == "" {
		return string(r.needs)
	}
	return access.Words([]access.Scope{r.needs, r.also})
}

// within checks that what the path names lies within the constraints of the caller. Who may act on some runs only may
// not ask for what is of no run: lists, starts, and what names its run in the body.
func (k *call) within(who access.Principal, r route) error {
	if !who.Constrained() {
		return nil
	}
	if k.run == "" {
		return refuse(forbidden)
	}
	name := ""
	if r.keyed { // the name of a message; elsewhere it is that of a question
		name = k.name
	}
	if !who.Covers(k.run, k.hook, name) {
		return refuse(notFound)
	}
	return nil
}
