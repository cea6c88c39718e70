package access

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// MaxExchanged is the longest, and the usual, life of a token that is made here.
const MaxExchanged = 10 * time.Minute

// Refusals of an exchange, beside ErrRefused and ErrUnavailable.
var (
	// ErrScope: a scope is asked for that is unknown, or that the credential has not, or there is none to give.
	ErrScope = errors.New("scope is not the credential's to give")
	// ErrTarget: the resource or the audience is not one of this deployment, or not within the credential's constraints.
	ErrTarget = errors.New("target is not the credential's to name")
)

// ExchangeRequest asks for a token that may do no more than a credential.
type ExchangeRequest struct {
	Credential string   // as for Verify
	Scopes     []string // a part of its scopes; nil: all
	// Resource is the one run or hook that the token is for, {public URL}/v1/runs/{run} or …/hooks/{hook}, with the IDs
	// percent-encoded; empty: what the credential is for.
	Resource string
	Audience string        // empty, or the public URL
	Lifetime time.Duration // 0, or from 1 s to MaxExchanged: never beyond the credential's own
	Admit    Admit         // as for VerifyAdmitted; nil admits everything
}

// Exchanged is a token that was made here.
type Exchanged struct {
	Token    tokens.Secret
	Holder   Principal // of the credential that it was made for, with the token's scopes and constraints
	Scopes   []Scope
	Lifetime time.Duration
}

// Exchange makes a token for the holder of a credential, which may itself have been made here. It holds no longer than the
// credential does: revoking an API key ends its tokens at their next use. Errors: ErrRefused, ErrUnavailable, ErrScope,
// ErrTarget, *spec.InvalidError for the lifetime, and those of Admit. With ErrScope and ErrTarget comes the holder.
func (v *Verifier) Exchange(ctx context.Context, r ExchangeRequest) (Exchanged, error) {
	if r.Lifetime < 0 || r.Lifetime > MaxExchanged || r.Lifetime > 0 && r.Lifetime < time.Second {
		return Exchanged{}, invalid("expires_in", "must be from 1 to 600")
	}
	if r.Admit == nil {
		r.Admit = admitAll
	}
	p, err := v.VerifyAdmitted(ctx, r.Credential, r.Admit)
	if err != nil {
		return Exchanged{}, err
	}
	holder := p
	if p.Scopes, err = narrowed(p.Scopes, r.Scopes); err != nil {
		return Exchanged{Holder: holder}, err
	}
	if r.Audience != "" && r.Audience != v.base {
		return Exchanged{Holder: holder}, ErrTarget
	}
	if err := v.aim(&p, r.Resource); err != nil {
		return Exchanged{Holder: holder}, err
	}
	now := v.clock()
	life := r.Lifetime
	if life == 0 {
		life = MaxExchanged
	}
	if p.Expires != nil {
		life = min(life, p.Expires.Sub(now))
	}
	if life = life.Truncate(time.Second); life <= 0 {
		return Exchanged{}, refused(reasonExpired) // within the leeway, but not to be prolonged
	}
	token, err := v.mint(p, now.Truncate(time.Second), life)
	return Exchanged{Token: token, Holder: p, Scopes: p.Scopes, Lifetime: life}, err
}

// narrowed returns the scopes that are asked for, of those there are.
func narrowed(have []Scope, asked []string) ([]Scope, error) {
	if asked == nil {
		if len(have) == 0 {
			return nil, ErrScope
		}
		return have, nil
	}
	var scopes []Scope
	for _, name := range asked {
		if !slices.Contains(have, Scope(name)) {
			return nil, ErrScope
		}
		if !slices.Contains(scopes, Scope(name)) {
			scopes = append(scopes, Scope(name))
		}
	}
	if len(scopes) == 0 {
		return nil, ErrScope
	}
	return scopes, nil
}

// aim narrows a principal to the run or the hook that a resource names.
func (v *Verifier) aim(p *Principal, resource string) error {
	if resource == "" {
		return nil
	}
	path, ours := strings.CutPrefix(resource, v.base+"/v1/runs/")
	if !ours {
		return ErrTarget
	}
	runText, hookText, ofHook := strings.Cut(path, "/hooks/")
	run, err := url.PathUnescape(runText)
	if err != nil || strings.Contains(runText, "/") || spec.RunID(run).Validate() != nil || p.Run != "" && p.Run != spec.RunID(run) {
		return ErrTarget
	}
	p.Run = spec.RunID(run)
	if !ofHook {
		return nil
	}
	hook, err := url.PathUnescape(hookText)
	if err != nil || strings.Contains(hookText, "/") || spec.HookID(hook).Validate() != nil || p.Hook != "" && p.Hook != spec.HookID(hook) {
		return ErrTarget
	}
	p.Hook = spec.HookID(hook)
	return nil
}

// The kinds of what a token was exchanged for, as its claim par begins.
const (
	parentKey    = "key"
	parentIssuer = "iss"
)

func parentOf(text string) (kind, name string) {
	kind, name, _ = strings.Cut(text, ":")
	return kind, name
}

// mint signs a token of a principal.
func (v *Verifier) mint(p Principal, now time.Time, life time.Duration) (tokens.Secret, error) {
	id := make([]byte, 16)
	if _, err := io.ReadFull(v.random, id); err != nil {
		return tokens.Secret{}, fmt.Errorf("read token ID: %w", err)
	}
	says := jwt.MapClaims{
		"iss": v.base, "aud": v.base, "sub": p.Actor, "jti": hex.EncodeToString(id), "iat": now.Unix(), "exp": now.Add(life).Unix(),
		"ns": string(p.Namespace), "scope": Words(p.Scopes), "par": parentIssuer + ":" + p.issuer,
	}
	if p.KeyID != "" {
		says["par"] = parentKey + ":" + p.KeyID
	}
	if p.Run != "" {
		says["run"] = string(p.Run)
	}
	if p.Hook != "" {
		says["hook"] = string(p.Hook)
	}
	if p.Signals != nil {
		says["signals"] = p.Signals
	}
	keyID, signer := v.sign.Current()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, says)
	token.Header["typ"], token.Header["kid"] = DefaultType, keyID
	text, err := token.SignedString(signer)
	if err != nil {
		return tokens.Secret{}, fmt.Errorf("sign token: %w", err)
	}
	if len(text) > maxJWTBytes {
		return tokens.Secret{}, ErrTarget // too many names in its constraints to be sent
	}
	return tokens.NewSecret(text), nil
}
