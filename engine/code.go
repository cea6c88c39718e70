package engine

import (
	"slices"

	"github.com/flowgate-go/flowgate/spec"
)

// CodeOption is code of a workflow beside its function, given to Register: see OnQuery and Query.
type CodeOption func(*registration) error

// maxQueries bounds the calls of query handlers of one workflow version that are under way in a process, abandoned ones
// included.
const maxQueries = 8

// newRegistration joins a spec with its code. What the spec declares must have a handler, and the other way
// round. Errors: *InvalidError.
func newRegistration(auth *authority, fn Workflow, opts []CodeOption) (registration, error) {
	if fn == nil {
		return registration{}, errNoFunction
	}
	r := registration{spec: auth.spec, auth: auth, fn: fn, queries: map[string]QueryFunc{}, slots: make(chan struct{}, maxQueries)}
	for _, opt := range opts {
		if err := opt(&r); err != nil {
			return registration{}, err
		}
	}
	return r, r.complete()
}

// complete says what lacks a handler or a declaration, the first by name.
func (r registration) complete() error {
	for _, q := range r.spec.Queries {
		if r.queries[q.Name] == nil {
			return &InvalidError{Field: "queries/" + q.Name, Rule: "is declared and has no handler; give Register one"}
		}
	}
	var names []string
	for name := range r.queries {
		if _, declared := r.spec.Query(name); !declared {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return &InvalidError{Field: "queries/" + slices.Min(names), Rule: "has a handler and is not declared by the spec"}
	}
	return nil
}

// OnQuery is the handler of a query that the spec declares.
func OnQuery(name string, fn QueryFunc) CodeOption {
	return func(r *registration) error {
		switch {
		case spec.CheckName("query", name) != nil:
			return spec.CheckName("query", name)
		case fn == nil:
			return &InvalidError{Field: "queries/" + name, Rule: "needs a function"}
		case r.queries[name] != nil:
			return &InvalidError{Field: "queries/" + name, Rule: "has two handlers"}
		}
		r.queries[name] = fn
		return nil
	}
}

// Query is OnQuery for a handler with an argument and an answer of Go types. An argument that does not decode is refused
// with a *SchemaError, as one is that breaks the schema; SchemaOf derives schemas from the same types.
func Query[Arg, Result any](name string, fn func(q *QueryContext, arg Arg) (Result, error)) CodeOption {
	if fn == nil {
		return OnQuery(name, nil)
	}
	return OnQuery(name, func(q *QueryContext) (any, error) {
		arg, err := QueryArg[Arg](q)
		if err != nil {
			return nil, err
		}
		return fn(q, arg)
	})
}
