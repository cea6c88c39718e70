package httppost

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// post is one attempt, ready to be sent.
type post struct {
	in        *Input
	step      *engine.Step
	host      string
	messageID string
	request   *http.Request
	hide      hidden
}

// prepare makes the request of an attempt. Errors are marked.
func (p *Poster) prepare(ctx context.Context, step *engine.Step, in *Input) (*post, error) {
	a := &post{in: in, step: step, messageID: orDefault(in.MessageID, step.IdempotencyKey)}
	if err := checkMessageID(a.messageID); err != nil || a.messageID == "" {
		return nil, badInput(invalid("message_id", "is empty, and the step has no idempotency key that can stand for it"))
	}
	target, auth, signWith, err := p.resolve(a)
	if err != nil {
		return nil, err
	}
	a.host = target.Hostname()
	if in.URL != "" && target.Scheme == "http" && (auth != "" || len(in.Links) > 0) && !p.dialer.rules.hosts.has(a.host) {
		return nil, marked(&Error{Code: CodeTarget, Host: a.host, Rule: "http would show the credential or link on its way: use https"})
	}
	body, err := p.body(ctx, step, in, &a.hide)
	if err != nil {
		return nil, err
	}
	a.request = &http.Request{
		Method: http.MethodPost, URL: target, Host: hostHeader(target), Header: p.header(a),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	if err := p.authorize(a, auth); err != nil {
		return nil, err
	}
	return a, p.sign(a, signWith, body)
}

// resolve finds where to post and under which names.
func (p *Poster) resolve(a *post) (target *url.URL, auth, signWith string, err error) {
	in := a.in
	if in.To == "" {
		target, rule := p.targets.parse(in.URL)
		if rule != "" {
			return nil, "", "", badInput(invalid("url", rule))
		}
		if host := target.Hostname(); len(p.hosts) > 0 && !p.hosts.has(host) {
			return nil, "", "", marked(&Error{Code: CodeTarget, Host: host, Rule: "is not one of the configured hosts"})
		}
		return target, in.Auth, in.SignWith, nil
	}
	e, ok := p.endpoints[in.To]
	if !ok || !e.allows(a.step.Namespace) {
		return nil, "", "", unconfigured("endpoint", in.To)
	}
	target, rule := p.targets.parse(e.url.Reveal())
	if rule != "" {
		return nil, "", "", unconfigured("endpoint", in.To) // New has checked it
	}
	a.hide.addURL(e.url.Reveal())
	a.hide.addURL(target.String())
	return target, orDefault(in.Auth, e.auth), orDefault(in.SignWith, e.signWith), nil
}

// header is what goes along, but for secrets and signatures.
func (p *Poster) header(a *post) http.Header {
	h := http.Header{}
	for name, value := range a.in.Headers {
		h.Set(name, value)
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	h.Set("User-Agent", p.config.UserAgent)
	h.Set("Idempotency-Key", a.step.IdempotencyKey)
	return h
}

// authorize puts the credential in, if the request's host may have it.
func (p *Poster) authorize(a *post, name string) error {
	if name == "" {
		return nil
	}
	c, ok := p.credentials[name]
	if !ok || !c.allows(a.step.Namespace) {
		return unconfigured("credential", name)
	}
	if !c.hosts.has(a.host) {
		return marked(&Error{Code: CodeTarget, Host: a.host, Rule: "is not a host of the credential named under auth"})
	}
	if a.request.Header.Get(c.header) != "" {
		return badInput(invalid("headers/"+c.header, "is the header of the credential named under auth"))
	}
	a.request.Header.Set(c.header, c.value.Reveal())
	a.hide.addCredential(c.value.Reveal())
	return nil
}

// sign adds the headers of Standard Webhooks: the ID always, time and signatures if there are secrets to sign with.
func (p *Poster) sign(a *post, name string, body []byte) error {
	h := a.request.Header
	h.Set(standardwebhooks.HeaderWebhookID, a.messageID)
	now := p.config.Now()
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if name == "" {
		return nil
	}
	s, ok := p.signers[name]
	if !ok || !s.allows(a.step.Namespace) {
		return unconfigured("signing secret", name)
	}
	if !s.hosts.has(a.host) {
		return marked(&Error{Code: CodeTarget, Host: a.host, Rule: "is not a host of the secret named under sign_with"})
	}
	signatures := make([]string, 0, len(s.secrets))
	for _, secret := range s.secrets {
		w, err := standardwebhooks.NewWebhook(secret.Reveal())
		if err != nil {
			return unconfigured("signing secret", name) // New has checked it; the library's error is of its bytes
		}
		signature, err := w.Sign(a.messageID, now, body)
		if err != nil {
			return unconfigured("signing secret", name)
		}
		signatures = append(signatures, signature)
	}
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}

// unconfigured says that this process does not know a name. Another that was configured later may, so it is retryable.
func unconfigured(what, name string) error {
	e := &Error{Code: CodeUnconfigured, Rule: what + " is not configured for this run"}
	if spec.CheckName("name", name) == nil {
		e.Rule = what + ` "` + name + `" is not configured for this run`
	}
	return marked(e)
}
