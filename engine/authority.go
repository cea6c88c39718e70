package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/schema"
	"github.com/flowgate-go/flowgate/spec"
)

// authority judges messages by a stored spec. It is immutable and safe for concurrent use.
type authority struct {
	spec    spec.WorkflowSpec
	input   *schema.Schema
	signals map[string]*schema.Schema
	hooks   map[string]*schema.Schema
	queries map[string]exchange
	updates map[string]exchange
}

// exchange is what an argument and what its answer must look like.
type exchange struct{ args, response *schema.Schema }

// newAuthority compiles the schemas of a spec. The error is an *InvalidError that names the schema.
func newAuthority(s spec.WorkflowSpec) (*authority, error) {
	a := &authority{
		spec: s, signals: map[string]*schema.Schema{}, hooks: map[string]*schema.Schema{},
		queries: map[string]exchange{}, updates: map[string]exchange{},
	}
	var err error
	if a.input, err = compile("input_schema", s.Input); err != nil {
		return nil, err
	}
	for _, sig := range s.Signals {
		if a.signals[sig.Name], err = compile("signals/"+sig.Name+"/schema", sig.Schema); err != nil {
			return nil, err
		}
	}
	for _, h := range s.Hooks {
		if a.hooks[h.Name], err = compile("hooks/"+h.Name+"/schema", h.Schema); err != nil {
			return nil, err
		}
	}
	for _, q := range s.Queries {
		if a.queries[q.Name], err = compileExchange("queries/"+q.Name, q.Args, q.Response); err != nil {
			return nil, err
		}
	}
	for _, u := range s.Updates {
		if a.updates[u.Name], err = compileExchange("updates/"+u.Name, u.Args, u.Response); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func compileExchange(field string, args, response json.RawMessage) (exchange, error) {
	var x exchange
	var err error
	if x.args, err = compile(field+"/arg_schema", args); err != nil {
		return exchange{}, err
	}
	x.response, err = compile(field+"/response_schema", response)
	return x, err
}

// compile returns nil, which accepts everything, for an absent schema.
func compile(field string, raw json.RawMessage) (*schema.Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	compiled, err := schema.Compile(raw)
	if err != nil {
		return nil, &InvalidError{Field: field, Rule: err.Error()}
	}
	return compiled, nil
}

// CheckInput returns nil or a *SchemaError.
func (a *authority) CheckInput(input canon.Payload) error { return a.input.Validate(input.Bytes()) }

// CheckSignal implements history.Authority.
func (a *authority) CheckSignal(name string, payload canon.Payload) error {
	compiled, declared := a.signals[name]
	if !declared {
		return ErrSignalUndeclared
	}
	return compiled.Validate(payload.Bytes())
}

// CheckUpdate implements history.Authority.
func (a *authority) CheckUpdate(name string, payload canon.Payload) error {
	declared, ok := a.updates[name]
	if !ok {
		return ErrUpdateUndeclared
	}
	return declared.args.Validate(payload.Bytes())
}

// CheckHook implements history.Authority.
func (a *authority) CheckHook(name string, payload canon.Payload) error {
	return a.hooks[name].Validate(payload.Bytes())
}

// Hook implements history.Authority.
func (a *authority) Hook(name string) spec.Hook { return a.spec.Hook(name) }

// CooperativeCancel implements history.Authority.
func (a *authority) CooperativeCancel() bool { return a.spec.CooperativeCancel }

// maxAuthorities bounds the cache of compiled specs.
const maxAuthorities = 1024

// authorities caches the specs that runs point at, by digest. A digest means the same spec for ever, so entries do not
// age; when the cache is full, the one that came first goes.
type authorities struct {
	mu    sync.RWMutex
	known map[canon.Digest]*authority
	order []canon.Digest
}

func newAuthorities() *authorities { return &authorities{known: map[canon.Digest]*authority{}} }

// lookup is db.Config.Authority: it does not load anything.
func (c *authorities) lookup(d canon.Digest) (history.Authority, bool) {
	a, ok := c.get(d)
	if !ok {
		return nil, false
	}
	return a, true
}

func (c *authorities) get(d canon.Digest) (*authority, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	a, ok := c.known[d]
	return a, ok
}

func (c *authorities) put(d canon.Digest, a *authority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[d]; ok {
		return
	}
	if len(c.order) >= maxAuthorities {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[d] = a
	c.order = append(c.order, d)
}

// decodeAuthority reads a stored spec. A stored spec that no longer compiles is a fault of the deployment, such as a
// newer program beside an older one, so the error is busy and not the caller's.
func decodeAuthority(document []byte) (*authority, error) {
	var s spec.WorkflowSpec
	if err := json.Unmarshal(document, &s); err != nil {
		return nil, fmt.Errorf("%w: a stored workflow spec does not decode", ErrUnavailable)
	}
	a, err := newAuthority(s)
	if err != nil {
		return nil, fmt.Errorf("%w: a stored workflow spec does not compile: %s", ErrUnavailable, err.Error())
	}
	return a, nil
}

// authorityOf is the compiled spec of a digest.
func (e *Engine) authorityOf(ctx context.Context, d canon.Digest) (*authority, error) {
	if a, ok := e.authorities.get(d); ok {
		return a, nil
	}
	document, err := e.store.SpecByDigest(ctx, d)
	if err != nil {
		return nil, err
	}
	a, err := decodeAuthority(document)
	if err != nil {
		return nil, err
	}
	e.authorities.put(d, a)
	return a, nil
}

// loadAuthority puts the compiled spec of a digest into the cache.
func (e *Engine) loadAuthority(ctx context.Context, d canon.Digest) error {
	_, err := e.authorityOf(ctx, d)
	return err
}

// maxResends bounds how often one message is sent again after its run's spec was loaded. More than once is needed only
// when the cache overflows meanwhile.
const maxResends = 3

// accept sends a message through the door, loading the spec of its run where the door misses it.
func (e *Engine) accept(ctx context.Context, m history.Message) (Receipt, error) {
	ctx = e.withTrace(ctx)
	for range maxResends {
		receipt, err := e.store.Accept(ctx, m)
		var missing *db.AuthorityMissingError
		if !errors.As(err, &missing) {
			e.noteRefusal(ctx, m, err)
			return receipt, err
		}
		if err := e.loadAuthority(ctx, missing.Digest); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{}, fmt.Errorf("%w: the specs of too many workflows are in use at once", ErrUnavailable)
}
