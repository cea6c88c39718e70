package engine

import (
	"context"
	"encoding/json"

	"github.com/flowgate-go/flowgate/spec"
)

// WorkflowInfo is a registered workflow version.
type WorkflowInfo struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
}

// Workflows lists the workflow versions that any process ever registered, by name, then in order of registration.
// Errors: ErrUnavailable.
func (e *Engine) Workflows(ctx context.Context) ([]WorkflowInfo, error) {
	stored, err := e.store.ListSpecs(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]WorkflowInfo, 0, len(stored))
	for _, s := range stored {
		info := WorkflowInfo{Name: s.Name, Version: s.Version}
		var declared spec.WorkflowSpec
		if err := json.Unmarshal(s.Document, &declared); err == nil {
			info.Description = declared.Description
		}
		list = append(list, info)
	}
	return list, nil
}

// Interface is what callers may send to runs of a workflow. Absent fields of the JSON are not declared.
type Interface struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description,omitempty"`
	InputSchema json.RawMessage   `json:"input_schema,omitempty"`
	Signals     []SignalInterface `json:"signals"` // by name, as the other lists
	Queries     []QueryInterface  `json:"queries"`
	Updates     []UpdateInterface `json:"updates"`
}

// SignalInterface is one declared signal.
type SignalInterface struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	ArgSchema   json.RawMessage `json:"arg_schema,omitempty"`
}

// QueryInterface is one declared query.
type QueryInterface struct {
	Name           string          `json:"name"`
	Description    string          `json:"description,omitempty"`
	ArgSchema      json.RawMessage `json:"arg_schema,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// UpdateInterface is one declared update.
type UpdateInterface QueryInterface

// Interface describes the version of a workflow that new runs get. Errors: *InvalidError, ErrWorkflowNotFound,
// ErrUnavailable.
func (e *Engine) Interface(ctx context.Context, workflow string) (Interface, error) {
	if err := spec.CheckName("workflow", workflow); err != nil {
		return Interface{}, err
	}
	found, err := e.versions.find(ctx, Code{Workflow: workflow}, e.authorities)
	if err != nil {
		return Interface{}, err
	}
	return interfaceOf(found.auth.spec), nil
}

func interfaceOf(s spec.WorkflowSpec) Interface {
	s = s.Normalized()
	shown := Interface{
		Name: s.Name, Version: s.Version, Description: s.Description, InputSchema: s.Input,
		Signals: make([]SignalInterface, len(s.Signals)),
		Queries: make([]QueryInterface, len(s.Queries)), Updates: make([]UpdateInterface, len(s.Updates)),
	}
	for i, d := range s.Signals {
		shown.Signals[i] = SignalInterface{Name: d.Name, Description: d.Description, ArgSchema: d.Schema}
	}
	for i, d := range s.Queries {
		shown.Queries[i] = QueryInterface{Name: d.Name, Description: d.Description, ArgSchema: d.Args, ResponseSchema: d.Response}
	}
	for i, d := range s.Updates {
		shown.Updates[i] = UpdateInterface{Name: d.Name, Description: d.Description, ArgSchema: d.Args, ResponseSchema: d.Response}
	}
	return shown
}
