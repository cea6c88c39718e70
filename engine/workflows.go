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
	Signals     []SignalInterface `json:"signals"` // by name
}

// SignalInterface is one declared signal.
type SignalInterface struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	ArgSchema   json.RawMessage `json:"arg_schema,omitempty"`
}

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
	declared := found.auth.spec.Normalized()
	shown := Interface{
		Name: declared.Name, Version: declared.Version, Description: declared.Description, InputSchema: declared.Input,
		Signals: make([]SignalInterface, len(declared.Signals)),
	}
	for i, s := range declared.Signals {
		shown.Signals[i] = SignalInterface{Name: s.Name, Description: s.Description, ArgSchema: s.Schema}
	}
	return shown, nil
}
