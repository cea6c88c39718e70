package spec

import (
	"encoding/json"
	"fmt"
)

// Validate returns an *InvalidError that names the first bad field, such as "queries/0/arg_schema". Schemas are only
// checked for being JSON here; they are compiled at registration. Signals, hooks, queries and updates are four spaces of
// names: a name is unique in each.
func (s WorkflowSpec) Validate() error {
	if err := CheckName("name", s.Name); err != nil {
		return err
	}
	if err := CheckName("version", s.Version); err != nil {
		return err
	}
	if err := checkSchema("input_schema", s.Input); err != nil {
		return err
	}
	for _, check := range []func() error{s.checkSignals, s.checkHooks, s.checkQueries, s.checkUpdates} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s WorkflowSpec) checkSignals() error {
	seen := declared{}
	for i, sig := range s.Signals {
		if err := seen.check(fmt.Sprintf("signals/%d", i), sig.Name, keyword{"schema", sig.Schema}); err != nil {
			return err
		}
	}
	return nil
}

func (s WorkflowSpec) checkHooks() error {
	seen := declared{}
	for i, h := range s.Hooks {
		field := fmt.Sprintf("hooks/%d", i)
		if err := seen.check(field, h.Name, keyword{"schema", h.Schema}); err != nil {
			return err
		}
		if h.Audience != "" && h.Audience != Public && h.Audience != Internal {
			return &InvalidError{Field: field + "/audience", Rule: "must be public or internal"}
		}
		if err := h.checkFactor(field); err != nil {
			return err
		}
	}
	return nil
}

func (h Hook) checkFactor(field string) error {
	switch h.Requires {
	case Signature:
		return CheckName(field+"/source", h.Source)
	case "", Credential:
		if h.Source != "" {
			return &InvalidError{Field: field + "/source", Rule: "must be given with the factor signature only"}
		}
		return nil
	}
	return &InvalidError{Field: field + "/requires", Rule: "must be credential or signature, or absent"}
}

func (s WorkflowSpec) checkQueries() error {
	seen := declared{}
	for i, q := range s.Queries {
		err := seen.check(fmt.Sprintf("queries/%d", i), q.Name,
			keyword{"arg_schema", q.Args}, keyword{"response_schema", q.Response})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s WorkflowSpec) checkUpdates() error {
	seen := declared{}
	for i, u := range s.Updates {
		err := seen.check(fmt.Sprintf("updates/%d", i), u.Name,
			keyword{"arg_schema", u.Args}, keyword{"response_schema", u.Response})
		if err != nil {
			return err
		}
	}
	return nil
}

// declared are the names of one list so far.
type declared map[string]bool

// keyword is a member of a declaration that holds a schema.
type keyword struct {
	name   string
	schema json.RawMessage
}

func (d declared) check(field, name string, schemas ...keyword) error {
	if err := CheckName(field+"/name", name); err != nil {
		return err
	}
	if d[name] {
		return &InvalidError{Field: field + "/name", Rule: "must be declared once"}
	}
	d[name] = true
	for _, k := range schemas {
		if err := checkSchema(field+"/"+k.name, k.schema); err != nil {
			return err
		}
	}
	return nil
}

func checkSchema(field string, schema json.RawMessage) error {
	if len(schema) > 0 && !json.Valid(schema) {
		return &InvalidError{Field: field, Rule: "must be JSON"}
	}
	return nil
}
