package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Query asks a run a question that its spec declares. It records nothing, takes no lock and needs no Run: the handler
// reads the run's current generation, as of one instant after the call began, whether the run is at work, blocked or
// ended. The cost is linear in the events of the generation. A nil argument is null.
//
// Errors: *InvalidError, *PayloadError, ErrPayloadTooLarge, ErrRunNotFound, ErrQueryUndeclared, *SchemaError when the
// argument breaks its schema or does not fit the handler, *QueryRefusedError when the handler returns an error,
// *QueryFailedError when it is at fault, ErrCodeMissing where another process may have the code, ErrUnavailable.
func (h *Handle) Query(ctx context.Context, id spec.RunID, name string, arg []byte) (json.RawMessage, error) {
	key, err := h.key(id)
	if err != nil {
		return nil, err
	}
	payload, err := parseQuery(name, arg, h.e.cfg.Limits.payload())
	if err != nil {
		return nil, err
	}
	state, _, err := h.e.store.State(ctx, key)
	if errors.Is(err, history.ErrNewerEvent) {
		return nil, fmt.Errorf("%w: a newer program wrote its history", ErrCodeMissing)
	}
	if err != nil {
		return nil, err
	}
	auth, err := h.e.authorityOf(ctx, state.SpecDigest())
	if err != nil {
		return nil, err
	}
	if err := auth.checkQuery(name, payload); err != nil {
		return nil, err
	}
	workflow, version := state.Workflow()
	code, ok := h.e.registry.get(Code{Workflow: workflow, Version: version})
	if !ok || code.queries[name] == nil {
		return nil, ErrCodeMissing
	}
	return h.e.exec.query(ctx, code, auth, newQuestion(name, state, payload))
}

// parseQuery checks the form of a question.
func parseQuery(name string, arg []byte, limits canon.Limits) (canon.Payload, error) {
	if err := spec.CheckName("query", name); err != nil {
		return canon.Payload{}, err
	}
	if arg == nil {
		arg = []byte("null")
	}
	return canon.Parse(arg, limits)
}

// checkQuery returns nil, ErrQueryUndeclared or a *SchemaError.
func (a *authority) checkQuery(name string, arg canon.Payload) error {
	declared, ok := a.queries[name]
	if !ok {
		return ErrQueryUndeclared
	}
	return declared.args.Validate(arg.Bytes())
}

// Query is Handle.Query. Before Start it is ErrRunNotFound.
func (r *Rehearsal) Query(name string, arg []byte) (json.RawMessage, error) {
	payload, err := parseQuery(name, arg, canon.DefaultLimits)
	if err != nil {
		return nil, err
	}
	if !r.begun() {
		return nil, ErrRunNotFound
	}
	state, err := r.fold()
	if err != nil {
		return nil, err
	}
	if err := r.auth.checkQuery(name, payload); err != nil {
		return nil, err
	}
	return r.exec.query(context.Background(), r.code, r.auth, newQuestion(name, state, payload))
}
