// Command seat_updates sells seats: callers ask a run for a change and wait for what it says.
//
// Each reservation is known by its caller's own ID, so sending it again, after whatever went wrong, reserves nothing twice
// and is told the same result.
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
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{{Spec: ShowSpec, Workflow: Sell}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	const (
		first   = `{"run_id":"friday","input":{"seats":2},"update":{"name":"seat.reserve","id":"ada-1","payload":{"guest":"Ada"}}}`
		start   = "/v1/workflows/cinema.show/update-with-start?wait=10s"
		reserve = "/v1/runs/friday/updates/seat.reserve?wait=10s&idempotency_key="
	)
	for _, step := range []struct{ title, method, path, body string }{
		{"the first guest opens the show", "POST", start, first},
		{"Bob wants the same seat", "POST", reserve + "bob-1", `{"guest":"Bob","seat":1}`},
		{"Bob takes any seat", "POST", reserve + "bob-2", `{"guest":"Bob"}`},
		{"Bob's phone sends it again", "POST", reserve + "bob-2", `{"guest":"Bob"}`},
		{"Cem comes too late", "POST", reserve + "cem-1", `{"guest":"Cem"}`},
		{"somebody without a name", "POST", reserve + "nobody-1", `{"guest":""}`},
		{"what became of Ada's", "GET", "/v1/runs/friday/updates/ada-1", ""},
		{"the show begins", "POST", "/v1/runs/friday/signals/show.closed?idempotency_key=c-1", "null"},
		{"who sits where", "GET", "/v1/runs/friday?wait=10s", ""},
		{"Ada's phone sends hers again", "POST", start, first},
		{"Dan comes after the end", "POST", reserve + "dan-1", `{"guest":"Dan"}`},
	} {
		if err := tell(ctx, out, step.title, step.method, flowgate.URL()+step.path, step.body); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return nil
}

func tell(ctx context.Context, out io.Writer, title, method, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var got map[string]json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return err
	}
	line := fmt.Sprintf("%-31s %d", title, res.StatusCode)
	for _, field := range []string{"verdict", "code", "violations", "result", "output"} {
		if value, there := got[field]; there {
			line += fmt.Sprintf(" %s=%s", field, value)
		}
	}
	_, err = fmt.Fprintln(out, line)
	return err
}
