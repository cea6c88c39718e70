package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// Env is the process around a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            func() time.Time
}

// UsageError says which argument is wrong. It never holds a value that may be a secret.
type UsageError struct{ Text string }

// Error is the text.
func (e *UsageError) Error() string { return e.Text }

// EndedError says that the run that a command waited for has another end than a good one.
type EndedError struct {
	Run    spec.RunID
	Status string // failed or cancelled
	Reason string // a stranger's words, made plain
}

// Error says how it ended.
func (e *EndedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("run %s is %s", Plain(string(e.Run)), e.Status)
	}
	return fmt.Sprintf("run %s is %s: %s", Plain(string(e.Run)), e.Status, e.Reason)
}

// Gateway says which gateway to ask, as whom, and for how long.
type Gateway struct {
	URL     string        `name:"url" setting:"FLOWGATE_URL" default:"http://127.0.0.1:8080" help:"Base of the gateway to ask."`
	Token   string        `setting:"FLOWGATE_TOKEN" placeholder:"CREDENTIAL" help:"Bearer credential for its API."`
	Timeout time.Duration `placeholder:"DURATION" help:"Give up after so long, such as 90s; else after 15s, and never while waiting."`
	JSON    bool          `name:"json" help:"Print the gateway's answer as it is, for programs."`
}

// Waiting is the flag of commands that may wait for the end of a run.
type Waiting struct {
	Wait bool `help:"Wait until the run ends; exit code 9 when it failed or was cancelled."`
}

// How a command tries: a person wants to know soon that nobody is there.
const (
	usualTimeout = 15 * time.Second
	attempts     = 4
	firstPause   = 200 * time.Millisecond
)

// ask makes a call. A refusal is printed as it came where the answer would be; the caller says it in words as well.
func (g Gateway) ask(ctx context.Context, env Env, waits bool, do func(context.Context, *client.Client) error) error {
	if g.Timeout < 0 {
		return &UsageError{"--timeout must be more than 0"}
	}
	c, err := client.New(g.URL, client.Options{Token: g.Token, MaxAttempts: attempts, Backoff: firstPause, Clock: env.Now})
	if err != nil {
		return err
	}
	if g.Timeout == 0 && !waits {
		g.Timeout = usualTimeout
	}
	if g.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.Timeout)
		defer cancel()
	}
	err = do(ctx, c)
	if refused, ok := errors.AsType[*client.Problem](err); ok && g.JSON && refused.Raw != nil {
		if err := printJSON(env.Stdout, refused.Raw); err != nil {
			return err
		}
	}
	return err
}

// print shows an answer: as it came, or to people.
func (g Gateway) print(env Env, raw json.RawMessage, people func(*page)) error {
	if g.JSON {
		return printJSON(env.Stdout, raw)
	}
	p := newPage(env)
	people(p)
	return p.flush()
}

// ended waits for the end of a run, where that is asked for, and shows it. Without it nothing more is said.
func (g Gateway) ended(ctx context.Context, env Env, c *client.Client, run spec.RunID) error {
	r, err := c.Wait(ctx, run)
	if errors.Is(err, context.DeadlineExceeded) && r.Status != "" {
		return fmt.Errorf("run %s has not ended in %s: it is %s: %w", Plain(string(run)), g.Timeout, r.Status, err)
	}
	if err != nil {
		return err
	}
	if err := g.print(env, r.Raw, func(p *page) { p.run(r) }); err != nil {
		return err
	}
	return verdictOn(r)
}

// verdictOn is an error for a run with a bad end.
func verdictOn(r client.Run) error {
	if r.Status == "failed" || r.Status == "cancelled" {
		return &EndedError{Run: r.RunID, Status: r.Status, Reason: Plain(r.Error)}
	}
	return nil
}
