package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flowgate-go/flowgate/spec"
)

// leeway is how far clocks may be apart.
const leeway = 30 * time.Second

// jwtForm is that of a JWT: the library also takes what some decoders pass over, such as a line end.
var jwtForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

// trusted is an issuer with what its tokens are checked with.
type trusted struct {
	Issuer
	// key returns the key of a name. Errors: those of Verify.
	key       func(context.Context, keyName) (any, error)
	validator *jwt.Validator
	own       bool
}

// trust makes an issuer one whose tokens are believed.
func (v *Verifier) trust(i Issuer, key func(context.Context, keyName) (any, error)) *trusted {
	return &trusted{Issuer: i, key: key, validator: jwt.NewValidator(
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(v.clock),
		jwt.WithAudience(i.Audience), jwt.WithIssuer(i.Name),
	)}
}

// newParser makes the parser of all tokens. It checks form, method and signature; the claims are checked against their
// issuer, which is not known before they are read.
func newParser() *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
}

// verifyJWT says whose token a text is. What a token says about itself is used for one thing before its signature is
// verified: to find the issuer, and the key, that it must be of.
func (v *Verifier) verifyJWT(ctx context.Context, text string, admit Admit) (Principal, error) {
	if len(text) > maxJWTBytes || !jwtForm.MatchString(text) {
		return Principal{}, refused(reasonMalformed)
	}
	c := &claims{}
	var from *trusted
	_, err := v.parser.ParseWithClaims(text, c, func(t *jwt.Token) (any, error) {
		var err error
		from, err = v.issuerOf(c)
		if err != nil {
			return nil, err
		}
		return v.keyOf(ctx, from, t.Raw)
	})
	if err != nil {
		return Principal{}, parseRefusal(err)
	}
	if err := from.check(c); err != nil {
		return Principal{}, err
	}
	return v.holder(ctx, from, c, admit)
}

// parseRefusal keeps our own errors and drops the words of the library, which repeat what they are about.
func parseRefusal(err error) error {
	if own, ok := errors.AsType[*RefusedError](err); ok {
		return own
	}
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		return unavailable
	}
	if errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		return refused(reasonSignature)
	}
	return refused(reasonMalformed)
}

func (v *Verifier) issuerOf(c *claims) (*trusted, error) {
	from := v.issuers[c.issuer]
	if from == nil {
		return nil, refused(reasonIssuer)
	}
	return from, nil
}

// header is what counts of the header of a JWT. Where it says that a key is to be had (jku, x5u, jwk, x5c) is ignored.
type header struct{ alg, typ, kid string }

// keyOf returns the key that a token of an issuer must be signed with.
func (v *Verifier) keyOf(ctx context.Context, from *trusted, text string) (any, error) {
	h, err := readHeader(text)
	if err != nil {
		return nil, err
	}
	name := keyName{h.kid, h.alg}
	if h.typ != from.Type || !keyIDForm.MatchString(h.kid) || !slices.Contains(from.Algorithms, h.alg) {
		return nil, refused(reasonHeader)
	}
	return from.key(ctx, name)
}

// readHeader reads the header a second time, because the library takes members that stand twice and the extensions that
// RFC 7515 says must be understood.
func readHeader(text string) (h header, err error) {
	first, _, _ := strings.Cut(text, ".")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(first)
	if err != nil {
		return h, refused(reasonHeader)
	}
	members, err := membersOf(raw)
	if err != nil {
		return h, refused(reasonHeader)
	}
	for _, extension := range []string{"crit", "b64", "enc", "zip"} {
		if _, given := members[extension]; given {
			return h, refused(reasonHeader)
		}
	}
	for name, into := range map[string]*string{"alg": &h.alg, "typ": &h.typ, "kid": &h.kid} {
		if *into, err = readText(membersOr(members, name)); err != nil {
			return h, refused(reasonHeader)
		}
	}
	return h, nil
}

func membersOr(members map[string]json.RawMessage, name string) json.RawMessage {
	if text, given := members[name]; given {
		return text
	}
	return json.RawMessage("null")
}

// check compares verified claims with what is believed of their issuer.
func (t *trusted) check(c *claims) error {
	if err := t.validator.Validate(c); err != nil {
		if errors.Is(err, jwt.ErrTokenExpired) {
			return refused(reasonExpired)
		}
		return refused(reasonClaims)
	}
	if c.issued == nil {
		return refused(reasonClaims)
	}
	if life := c.expires.Sub(c.issued.Time); life <= 0 || life > t.MaxLifetime {
		return refused(reasonLifetime)
	}
	if c.run != "" && spec.RunID(c.run).Validate() != nil || c.hook != "" && spec.HookID(c.hook).Validate() != nil {
		return refused(reasonClaims)
	}
	return nil
}

// holder makes the principal of verified and checked claims.
func (v *Verifier) holder(ctx context.Context, from *trusted, c *claims, admit Admit) (Principal, error) {
	ns, ok := from.namespaceOf(c.namespace)
	if !ok {
		return Principal{}, refused(reasonNamespace)
	}
	expires := c.expires.UTC()
	p := Principal{
		Namespace: ns, Method: ByJWT, Scopes: known(c.scope, from.Scopes), Run: spec.RunID(c.run), Hook: spec.HookID(c.hook),
		Signals: c.signals, TokenID: c.id, Expires: &expires, issuer: from.Name,
	}
	if from.own {
		return v.exchanged(ctx, p, c, admit)
	}
	p.Actor = from.Name + "#" + c.subject
	if c.subject == "" || spec.CheckName("actor", p.Actor) != nil {
		return Principal{}, refused(reasonClaims)
	}
	return p, nil
}

// exchanged finishes the principal of a token made here, which holds only as long as what it was exchanged for.
func (v *Verifier) exchanged(ctx context.Context, p Principal, c *claims, admit Admit) (Principal, error) {
	p.Method, p.Actor = ByExchange, c.subject
	if spec.CheckName("actor", p.Actor) != nil {
		return Principal{}, refused(reasonClaims)
	}
	kind, parent := parentOf(c.parent)
	switch kind {
	case parentKey:
		key, err := v.keys.live(ctx, parent, admit)
		if err != nil {
			return Principal{}, err
		}
		if key.Namespace != p.Namespace {
			return Principal{}, refused(reasonParent)
		}
		p.KeyID, p.issuer = parent, ""
	case parentIssuer:
		from := v.issuers[parent]
		if from == nil || from.own {
			return Principal{}, refused(reasonParent)
		}
		// The configuration may have become narrower since.
		if ns, may := from.namespaceOf(string(p.Namespace)); !may || ns != p.Namespace {
			return Principal{}, refused(reasonParent)
		}
		p.Scopes = known(c.scope, from.Scopes)
		p.issuer = parent
	default:
		return Principal{}, refused(reasonParent)
	}
	return p, nil
}
