package client

import (
	"context"
	"encoding/json"

	"github.com/flowgate-go/flowgate/spec"
)

// Workflow is a workflow version that runs can be started of.
type Workflow struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
}

// Workflows lists them, by name. Errors: ErrDenied, ErrBusy.
func (c *Client) Workflows(ctx context.Context) (Page[Workflow], error) {
	return list[Workflow](ctx, c, "/v1/workflows", nil)
}

// Interface is what the runs of a workflow take and answer.
type Interface struct {
	Answer
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Signals     []Declared      `json:"signals"`
	Queries     []Declared      `json:"queries"`
	Updates     []Declared      `json:"updates"`
}

// Declared is a signal, a query or an update that a workflow declares. A signal has no ResponseSchema.
type Declared struct {
	Name           string          `json:"name"`
	Description    string          `json:"description,omitempty"`
	ArgSchema      json.RawMessage `json:"arg_schema,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// Interface reads the contract of a workflow, of its newest version. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Interface(ctx context.Context, workflow string) (Interface, error) {
	var i Interface
	if err := spec.CheckName("workflow", workflow); err != nil {
		return i, refuse(err)
	}
	return i, c.do(ctx, request{method: "GET", path: path("/v1/workflows/", workflow, "/interface")}, &i)
}
