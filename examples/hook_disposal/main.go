// Command hook_disposal withdraws an approval that somebody was asked for, and then lets the answer come all the same.
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
	"time"

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
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{
		{Spec: workflows.ApprovalSpec, Workflow: workflows.ApprovalHook},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	c := client{base: flowgate.URL(), out: out}

	const path, hook = "/v1/runs/expense-4712", "/v1/runs/expense-4712/hooks/approval"
	if err := c.tell(ctx, "start the run", "POST", "/v1/runs", `{"workflow":"approval.hook","run_id":"expense-4712",
		"input":{"subject":"A second bicycle"}}`); err != nil {
		return err
	}
	link, err := c.link(ctx, hook)
	if err != nil {
		return err
	}
	for _, step := range []struct{ title, method, to, body string }{
		{"withdraw the request", "POST", hook + "/dispose", ""},
		{"withdraw it again", "POST", hook + "/dispose", ""},
		{"approve, too late", "POST", link, `{"approved":true,"reviewer":"ada"}`},
		{"wait for the end", "GET", path + "?wait=10s", ""},
		// Later as well: a link that was withdrawn stays gone, and never becomes one that is unknown.
		{"approve after the end", "POST", link, `{"approved":true,"reviewer":"ada"}`},
		{"look at the hook", "GET", hook, ""},
	} {
		if err := c.tell(ctx, step.title, step.method, step.to, step.body); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return nil
}

// link takes the link of a hook. A start is answered before the run has opened it, so it may need a few questions.
func (c client) link(ctx context.Context, hook string) (string, error) {
	for ctx.Err() == nil {
		_, got, err := c.ask(ctx, "POST", hook+"/token", "")
		if err != nil || got["url"] != nil {
			return strings.Trim(string(got["url"]), `"`), err
		}
		<-time.After(20 * time.Millisecond)
	}
	return "", ctx.Err()
}

// client sends requests and tells what came back.
type client struct {
	base string
	out  io.Writer
}

type answer map[string]json.RawMessage

func (c client) tell(ctx context.Context, title, method, to, body string) error {
	code, got, err := c.ask(ctx, method, to, body)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%-22s %d", title, code)
	for _, field := range []string{"verdict", "cause", "state", "output"} {
		if value, there := got[field]; there {
			line += fmt.Sprintf(" %s=%s", field, value)
		}
	}
	_, err = fmt.Fprintln(c.out, line)
	return err
}

// ask sends a request to a path of the API or to a link.
func (c client) ask(ctx context.Context, method, to, body string) (code int, got answer, err error) {
	if strings.HasPrefix(to, "/") {
		to = c.base + to
	}
	req, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(body))
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
