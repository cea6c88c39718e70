// Command retry_backoff fetches three pages of a server that is not well: one comes after some patience, one will never
// come, and one waits among the dead letters until the server is mended.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
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
	server := newFlaky(out)
	defer server.Close()
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{{
		Spec: FetchSpec, Workflow: Fetch, Steps: []app.Step{{Name: "http.get", Do: engine.TypedStep(fetch)}},
	}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	d := driver{eng: flowgate.Engine(), server: server, out: out}
	for _, part := range []func(context.Context) error{d.patience, d.refusal, d.deadLetter} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

type driver struct {
	eng    *engine.Engine
	server *flaky
	out    io.Writer
}

func (d driver) patience(ctx context.Context) error {
	if err := d.start(ctx, "rates", false); err != nil {
		return err
	}
	return d.end(ctx, "rates")
}

func (d driver) refusal(ctx context.Context) error {
	if err := d.start(ctx, "none", false); err != nil {
		return err
	}
	return d.end(ctx, "none")
}

// deadLetter has a step wait for a person, who mends the server and has the step tried again.
func (d driver) deadLetter(ctx context.Context) error {
	if err := d.start(ctx, "down", true); err != nil {
		return err
	}
	letter, err := d.held(ctx)
	if err != nil {
		return err
	}
	if err := d.say("  held: step %s after attempt %d, %s (%s)", letter.StepID, letter.Attempt, letter.Message, letter.Code); err != nil {
		return err
	}
	d.server.mend("/down")
	verdict, err := d.eng.ReplayDeadLetter(ctx, letter.ID, "ada")
	if err != nil {
		return err
	}
	if err := d.end(ctx, "down"); err != nil { // what comes of a replay may be quicker than its verdict
		return err
	}
	return d.say("  the replay was %s", verdict)
}

// held waits for a dead letter, as an operator's page would.
func (d driver) held(ctx context.Context) (engine.DeadLetter, error) {
	for {
		page, err := d.eng.ListDeadLetters(ctx, engine.LetterFilter{State: engine.LetterHeld})
		if err != nil || len(page.Letters) > 0 {
			return first(page.Letters), err
		}
		select {
		case <-ctx.Done():
			return engine.DeadLetter{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func first(letters []engine.DeadLetter) engine.DeadLetter {
	if len(letters) == 0 {
		return engine.DeadLetter{}
	}
	return letters[0]
}

func (d driver) start(ctx context.Context, page spec.RunID, hold bool) error {
	if err := d.say("%s", page); err != nil {
		return err
	}
	input, err := json.Marshal(Request{URL: d.server.URL + "/" + string(page), Hold: hold})
	if err != nil {
		return err
	}
	_, err = d.eng.Start(ctx, engine.StartRequest{Workflow: FetchSpec.Name, RunID: page, Input: input})
	return err
}

func (d driver) end(ctx context.Context, run spec.RunID) error {
	s, err := d.eng.Wait(ctx, run)
	if err != nil {
		return err
	}
	return d.say("  %s: %s%s", s.Status, s.Output, s.Error)
}

func (d driver) say(format string, args ...any) error {
	_, err := fmt.Fprintf(d.out, format+"\n", args...)
	return err
}
