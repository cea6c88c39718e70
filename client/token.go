package client

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The words of RFC 8693.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccess    = "urn:ietf:params:oauth:token-type:access_token"
)

// ExchangeRequest says what a short-lived token may do; what is empty is as the credential's.
type ExchangeRequest struct {
	Credential string // empty: the client's own
	Scopes     []string
	Resource   string        // one run or hook, as a URL below the public URL
	Audience   string        // the public URL
	Lifetime   time.Duration // whole seconds, at most 10 minutes
}

// Exchanged is a short-lived token. Keep it out of logs.
type Exchanged struct {
	Answer
	AccessToken string `json:"access_token"`
	IssuedType  string `json:"issued_token_type"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"` // seconds
	Scope       string `json:"scope"`
}

// Exchange makes a short-lived token that may do less than the credential it is made for (RFC 8693). Nothing is kept of it, so
// a repeated call makes another one. Errors: ErrDenied for a credential that is not valid, or less than what is asked for;
// ErrInvalid, ErrUnknown where the gateway knows no credentials, ErrBusy.
func (c *Client) Exchange(ctx context.Context, r ExchangeRequest) (Exchanged, error) {
	var e Exchanged
	form := url.Values{"grant_type": {grantExchange}, "subject_token_type": {typeAccess}, "subject_token": {c.options.Token}}
	if r.Credential != "" {
		form.Set("subject_token", r.Credential)
	}
	with := parameters(form).with("scope", strings.Join(r.Scopes, " ")).with("resource", r.Resource).with("audience", r.Audience)
	if r.Lifetime > 0 {
		with.with("expires_in", strconv.FormatInt(int64(r.Lifetime/time.Second), 10))
	}
	req := request{method: "POST", path: "/v1/token", form: true, anonymous: true, body: []byte(url.Values(with).Encode())}
	return e, c.do(ctx, req, &e)
}
