// Command payment_callback waits an hour for the payment of an order, which a provider reports in time, twice.
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
		{Spec: workflows.CheckoutSpec, Workflow: workflows.Checkout},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	c := client{base: flowgate.URL(), out: out}

	const path = "/v1/runs/order-1001"
	// The event ID of the provider is the identity of the signal: redeliveries carry the same one.
	const captured = path + "/signals/payment.captured?idempotency_key=evt_8f2c"
	for _, step := range []struct{ title, method, path, body string }{
		// The provider may be faster than the shop: what nobody waits for yet is kept.
		{"the order is placed", "POST", "/v1/runs", `{"workflow":"payment.checkout","run_id":"order-1001",
			"input":{"order_id":"1001"}}`},
		{"the payment is captured", "POST", captured, `{"capture_id":"cap_77"}`},
		{"wait for the end", "GET", path + "?wait=10s", ""},
		{"the provider says it again", "POST", captured, `{"capture_id":"cap_77"}`},
		{"another event, too late", "POST", path + "/signals/payment.captured?idempotency_key=evt_9a01", `{"capture_id":"cap_78"}`},
		{"what became of the event", "GET", path + "/signals/evt_8f2c", ""},
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
	line := fmt.Sprintf("%-26s %d", title, code)
	for _, field := range []string{"verdict", "state", "output"} {
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
