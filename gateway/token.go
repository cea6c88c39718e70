package gateway

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
	"github.com/flowgate-go/flowgate/spec"
)

// exchangePattern is the one route whose credential is in its body.
const exchangePattern = "/v1/token"

// The words of RFC 8693.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccess    = "urn:ietf:params:oauth:token-type:access_token"
	typeJWT       = "urn:ietf:params:oauth:token-type:jwt"
)

// oauthProblem is one way to be refused an exchange, in the words of RFC 6749 section 5.2 and RFC 8693 section 2.2.2.
type oauthProblem struct {
	code, detail string
	status       int
	verdict      engine.Verdict
}

var (
	badForm     = &oauthProblem{"invalid_request", "Send a form in UTF-8 (application/x-www-form-urlencoded) of grant_type, subject_token, subject_token_type and, where wanted, requested_token_type, scope, resource, audience and expires_in, each once.", 400, engine.VerdictInvalid}
	badGrant    = &oauthProblem{"unsupported_grant_type", "The grant_type must be " + grantExchange + ".", 400, engine.VerdictInvalid}
	badType     = &oauthProblem{"invalid_request", "The subject_token_type must be " + typeAccess + ", or " + typeJWT + " for a JWT; the requested_token_type one of them.", 400, engine.VerdictInvalid}
	badSubject  = &oauthProblem{"invalid_request", "The subject_token is not valid.", 400, engine.VerdictDenied}
	badLifetime = &oauthProblem{"invalid_request", "The expires_in must be a whole number of seconds from 1 to 600.", 400, engine.VerdictInvalid}
	badScope    = &oauthProblem{"invalid_scope", "The scope must be a part of the subject_token's, and not empty.", 400, engine.VerdictDenied}
	badTarget   = &oauthProblem{"invalid_target", "The audience must be the public URL, and the resource one run or hook below it that the subject_token may act on.", 400, engine.VerdictDenied}
	badClient   = &oauthProblem{"invalid_client", "The credential belongs into subject_token; this route takes no Authorization.", 401, engine.VerdictDenied}
)

// exchangedToken is the answer of an exchange, one of the two bodies that show a credential.
type exchangedToken struct {
	AccessToken string         `json:"access_token"`
	IssuedType  string         `json:"issued_token_type"`
	TokenType   string         `json:"token_type"`
	ExpiresIn   int64          `json:"expires_in"`
	Scope       string         `json:"scope"`
	Verdict     engine.Verdict `json:"verdict"`
}

// exchangeToken makes a short-lived token for the holder of a credential.
func (g *Gateway) exchangeToken(c *fiber.Ctx, k *call) error {
	if g.config.Access == nil {
		return refuse(notFound)
	}
	request, bad := exchangeOf(c)
	if bad != nil {
		return k.oauthRefused(c, bad)
	}
	var made access.Exchanged
	err := g.withCredential(c.UserContext(), k, func(admit access.Admit) (spec.Namespace, error) {
		var err error
		request.Admit = admit
		made, err = g.config.Access.Exchange(c.UserContext(), request)
		return made.Holder.Namespace, err
	})
	if made.Holder.Namespace != "" { // who asks is known, whatever is answered
		k.who, k.authenticated, k.trusted = made.Holder, true, true
		if err := g.limiter.caller(c.UserContext(), k, k.who); err != nil {
			return err
		}
	}
	if bad := oauthRefusal(err); bad != nil {
		return k.oauthRefused(c, bad)
	}
	if err != nil {
		return err
	}
	k.verdict = engine.VerdictAccepted
	return writeJSON(c, http.StatusOK, exchangedToken{
		AccessToken: made.Token.Reveal(), IssuedType: typeAccess, TokenType: "Bearer", ExpiresIn: int64(made.Lifetime / time.Second),
		Scope: access.Words(made.Scopes), Verdict: k.verdict,
	})
}

func oauthRefusal(err error) *oauthProblem {
	switch {
	case errors.Is(err, access.ErrRefused):
		return badSubject
	case errors.Is(err, access.ErrScope):
		return badScope
	case errors.Is(err, access.ErrTarget):
		return badTarget
	}
	if _, ok := errors.AsType[*spec.InvalidError](err); ok {
		return badLifetime
	}
	return nil
}

// exchangeOf reads the form. A parameter that is not known is refused, though RFC 6749 would ignore it: a misspelt resource
// would make a token for everything.
func exchangeOf(c *fiber.Ctx) (access.ExchangeRequest, *oauthProblem) {
	var r access.ExchangeRequest
	if len(c.Request().Header.PeekAll(fiber.HeaderAuthorization)) > 0 {
		return r, badClient
	}
	form, ok := formOf(c)
	if !ok {
		return r, badForm
	}
	if form.Get("grant_type") != grantExchange {
		return r, badGrant
	}
	if bad := tokenTypes(form); bad != nil {
		return r, bad
	}
	r = access.ExchangeRequest{Credential: form.Get("subject_token"), Resource: form.Get("resource"), Audience: form.Get("audience")}
	if form.Has("scope") {
		r.Scopes = strings.Split(form.Get("scope"), " ")
	}
	if form.Has("expires_in") {
		seconds, err := strconv.ParseUint(form.Get("expires_in"), 10, 16)
		if err != nil || seconds == 0 {
			return r, badLifetime
		}
		r.Lifetime = time.Duration(seconds) * time.Second
	}
	return r, nil
}

// tokenTypes checks what the form says that its credential is, and what it asks for.
func tokenTypes(form url.Values) *oauthProblem {
	kind, wanted := form.Get("subject_token_type"), form.Get("requested_token_type")
	if kind != typeAccess && (kind != typeJWT || !strings.HasPrefix(form.Get("subject_token"), "eyJ")) {
		return badType
	}
	if form.Has("requested_token_type") && wanted != typeAccess && wanted != typeJWT {
		return badType
	}
	return nil
}

// exchangeBody is the form of an exchange.
type exchangeBody struct {
	Grant     string `json:"grant_type"`
	Subject   string `json:"subject_token"`
	Kind      string `json:"subject_token_type"`
	Wanted    string `json:"requested_token_type,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Audience  string `json:"audience,omitempty"`
	ExpiresIn string `json:"expires_in,omitempty"`
}

var exchangeParameters = openapi.Members(exchangeBody{})

// formOf reads a form in which nothing stands twice, nothing is empty and nothing is unknown.
func formOf(c *fiber.Ctx) (url.Values, bool) {
	header, body := &c.Request().Header, c.BodyRaw()
	kind, params, err := mime.ParseMediaType(string(header.ContentType()))
	if err != nil || kind != fiber.MIMEApplicationForm || len(header.PeekAll(fiber.HeaderContentEncoding)) > 0 || len(body) >= c.App().Config().BodyLimit {
		return nil, false
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return nil, false
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, false
	}
	for name, values := range form {
		if len(values) != 1 || values[0] == "" || !slices.Contains(exchangeParameters, name) {
			return nil, false
		}
	}
	return form, true
}

// exchangeRefused is the body of a refused exchange.
type exchangeRefused struct {
	Error   string         `json:"error"`
	Detail  string         `json:"error_description"`
	Verdict engine.Verdict `json:"verdict"`
	ID      string         `json:"request_id"`
}

// oauthRefused answers a refused exchange. The body has the verdict beside OAuth's members, as every body has.
func (k *call) oauthRefused(c *fiber.Ctx, p *oauthProblem) error {
	k.verdict = p.verdict
	if p.status == http.StatusUnauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, challengeBearer)
	}
	return writeJSON(c, p.status, exchangeRefused{p.code, p.detail, p.verdict, k.id})
}
