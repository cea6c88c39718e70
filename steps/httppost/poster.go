package httppost

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// Name is what the step is registered under.
const Name = "http.post"

// Limits of connections.
const (
	maxResponseHeader = 32 << 10 // bytes
	tlsSessions       = 64       // remembered, so that the next handshake with a host is short
)

// Poster does the step. It is safe for concurrent use; Close it after the workers that use it have stopped.
type Poster struct {
	config      Config
	targets     targetRules
	hosts       hostList
	endpoints   map[string]endpoint
	credentials map[string]credential
	signers     map[string]signer
	dialer      *dialer
	tls         *tls.Config

	places  chan struct{} // one for each attempt under way
	life    context.Context
	end     context.CancelCauseFunc
	mu      sync.Mutex // guards closed, and running against a late Add
	closed  bool
	running sync.WaitGroup
}

// New checks a Config and makes a Poster of it. Errors: *spec.InvalidError, which names the field and no secret.
func New(c Config) (*Poster, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &Poster{config: c, targets: targetRules{http: c.AllowHTTP, ports: slices.Clone(c.Ports)}}
	internal, err := newHostList("InternalHosts", c.InternalHosts)
	if err != nil {
		return nil, err
	}
	if p.hosts, err = newHostList("Hosts", c.Hosts); err != nil {
		return nil, err
	}
	if p.credentials, err = newCredentials(c.Credentials); err != nil {
		return nil, err
	}
	if p.signers, err = newSigners(c.Signing); err != nil {
		return nil, err
	}
	if err := p.newEndpoints(c.Endpoints); err != nil {
		return nil, err
	}
	p.dialer = &dialer{resolver: c.Resolver, rules: addressRules{networks: slices.Clone(c.InternalNetworks), hosts: internal}}
	if c.Resolver == nil {
		p.dialer.resolver = net.DefaultResolver
	}
	p.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs, NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(tlsSessions),
	}
	p.places = make(chan struct{}, c.Concurrency)
	p.life, p.end = context.WithCancelCause(context.Background())
	return p, nil
}

// Step is the function to register under Name. Its errors are marked for the engine, see the codes of this package.
func (p *Poster) Step() engine.StepFunc {
	return func(ctx context.Context, step *engine.Step) (any, error) {
		in, err := decodeInput(step.Input)
		if err == nil {
			err = in.check(&p.config)
		}
		if err != nil {
			return nil, badInput(fmt.Errorf("%s: %w", Name, err))
		}
		out, err := p.attempt(ctx, step, in)
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// attempt sends once, in its time, in one of the places.
func (p *Poster) attempt(ctx context.Context, step *engine.Step, in *Input) (*Output, error) {
	if !p.enter() {
		return nil, marked(&Error{Code: CodeCancelled, Rule: "the poster was closed", cause: ErrClosed})
	}
	defer p.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(ErrClosed) })()
	ctx, stop := context.WithTimeoutCause(ctx, orDefault(time.Duration(in.Timeout), p.config.Timeout), errAttemptTime)
	defer stop()
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return nil, ended(ctx, "")
	}
	return p.send(ctx, step, in)
}

// enter counts an attempt, unless the Poster is closed.
func (p *Poster) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	return true
}

func (p *Poster) send(ctx context.Context, step *engine.Step, in *Input) (*Output, error) {
	a, err := p.prepare(ctx, step, in)
	if err != nil {
		return nil, err
	}
	conn, err := p.connect(ctx, a.request.URL)
	if err != nil {
		return nil, trouble(ctx, a.host, err)
	}
	defer conn.Close()
	response, err := transport(conn).RoundTrip(a.request.WithContext(ctx))
	if err != nil {
		return nil, trouble(ctx, a.host, err)
	}
	defer response.Body.Close()
	if err := p.judge(a, response); err != nil {
		return nil, err
	}
	return p.output(a, response), nil
}

// Close ends the attempts under way with ErrClosed, waits for them, and refuses later ones. It may be called again.
func (p *Poster) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end(ErrClosed)
	p.running.Wait()
	return nil
}

// Format implements fmt.Formatter: a Poster prints as its name, whatever the verb.
func (p *Poster) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("httppost.Poster")) }

// LogValue implements slog.LogValuer.
func (p *Poster) LogValue() slog.Value { return slog.StringValue("httppost.Poster") }
