// Command interface_schema asks a workflow what it takes and answers, and talks to it by what it said.
//
// The schemas are derived from Go types. A caller finds them at the workflow's interface, and Flowgate holds both sides to
// them: what breaks one is refused at the door, with the place that breaks it.
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
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{
		{Spec: ReportSpec, Workflow: Report, Code: ReportCode},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	c := client{base: flowgate.URL(), out: out}
	if err := c.discover(ctx, "/v1/workflows/expenses.report/interface"); err != nil {
		return err
	}
	const (
		start = `{"workflow":"expenses.report","run_id":"may"}`
		add   = "/v1/runs/may/signals/expense.added?idempotency_key="
		spent = "/v1/runs/may/queries/spent"
	)
	for _, step := range []struct{ title, method, path, body string }{
		{"start the report", "POST", "/v1/runs", start},
		{"add a train", "POST", add + "e-1", `{"category":"travel","cents":12900}`},
		{"add a dinner", "POST", add + "e-2", `{"category":"meals","cents":4200}`},
		{"add what is no expense", "POST", add + "e-3", `{"category":"yacht","cents":0}`},
		{"how much was spent", "GET", spent, ""},
		{"on meals", "POST", spent, `{"category":"meals"}`},
		{"on yachts", "POST", spent, `{"category":"yacht"}`},
		{"what is no query", "GET", "/v1/runs/may/queries/saved", ""},
		{"close the report", "POST", "/v1/runs/may/signals/report.closed?idempotency_key=c-1", "null"},
		{"wait for the end", "GET", "/v1/runs/may?wait=10s", ""},
		{"ask again, after the end", "GET", spent, ""},
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

// discover tells what can be sent to runs of a workflow, and asked of them.
func (c client) discover(ctx context.Context, path string) error {
	_, got, err := c.ask(ctx, "GET", path, "")
	if err != nil {
		return err
	}
	for _, kind := range []string{"signals", "queries"} {
		var declared []struct {
			Name     string          `json:"name"`
			Args     json.RawMessage `json:"arg_schema"`
			Response json.RawMessage `json:"response_schema"`
		}
		if err := json.Unmarshal(got[kind], &declared); err != nil {
			return err
		}
		for _, d := range declared {
			line := fmt.Sprintf("%s: %s", kind, d.Name)
			if d.Args != nil {
				line += fmt.Sprintf("\n  takes   %s", d.Args)
			}
			if d.Response != nil {
				line += fmt.Sprintf("\n  answers %s", d.Response)
			}
			if _, err := fmt.Fprintln(c.out, line); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c client) tell(ctx context.Context, title, method, path, body string) error {
	code, got, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%-24s %d", title, code)
	for _, field := range []string{"verdict", "code", "violations", "result", "output"} {
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
