// Command workflow_signals approves an invoice by a signal: delivered once, delivered again, and contradicted.
//
// It brings up a whole Flowgate of its own, with a throw-away PostgreSQL, and talks to it over HTTP as any client would.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{
		{Spec: workflows.InvoiceSpec, Workflow: workflows.InvoiceApproval},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	c := client{base: flowgate.URL(), out: out}

	// The run carries the name of the business object. Starting it again is safe.
	const invoice = `{"workflow":"billing.invoice-approval","run_id":"invoice-17","input":{"amount":"120.00"}}`
	// The key is the identity of the signal: the sender chooses it and keeps it over retries.
	const signal = "/v1/runs/invoice-17/signals/invoice.approved?idempotency_key=approval-17"
	for _, step := range []struct{ title, method, path, body string }{
		{"start the run", "POST", "/v1/runs", invoice},
		{"start it again", "POST", "/v1/runs", invoice},
		{"signal the approval", "POST", signal, `{"reviewer":"ada","note":"fine"}`},
		{"wait for the end", "GET", "/v1/runs/invoice-17?wait=10s", ""},
		{"redeliver, spelled otherwise", "POST", signal, `{ "note": "fine", "reviewer": "\u0061da" }`},
		{"the same key, another reviewer", "POST", signal, `{"reviewer":"eve"}`},
		{"what became of the signal", "GET", "/v1/runs/invoice-17/signals/approval-17", ""},
	} {
		if err := c.tell(ctx, step.title, step.method, step.path, step.body); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return nil
}

// client sends requests and tells what came back.
type client struct {
	base string
	out  io.Writer
}

type answer map[string]json.RawMessage

func (c client) tell(ctx context.Context, title, method, path, body string) error {
	code, got, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%-30s %d", title, code)
	for _, field := range []string{"verdict", "differs", "state", "output"} {
		if value, there := got[field]; there {
			line += fmt.Sprintf(" %s=%s", field, value)
		}
	}
	_, err = fmt.Fprintln(c.out, line)
	return err
}

func (c client) ask(ctx context.Context, method, path, body string) (code int, got answer, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	err = json.NewDecoder(res.Body).Decode(&got)
	return res.StatusCode, got, err
}
