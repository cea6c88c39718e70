// Command weekly_digest collects what happens and mails it once a week, week after week, in one run that never grows. Its
// weeks last 300 ms, so which week a thing falls into depends on the machine; that it is mailed once, in order, does not.
// The tests of this folder have real weeks, under a virtual clock.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// mail is a digest that was sent, under the key of its step.
type mail struct {
	key string
	Digest
}

// mailer is a mail gateway that sends a digest once, however often it is asked to under the same key.
type mailer chan mail

func (m mailer) send(ctx context.Context, step *engine.Step, d Digest) (any, error) {
	select {
	case m <- mail{key: step.IdempotencyKey, Digest: d}:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	mails := make(mailer)
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{{
		Spec: DigestSpec, Workflow: Collect, Steps: []app.Step{{Name: "mail.digest", Do: engine.TypedStep(mails.send)}},
	}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	eng := flowgate.Engine()
	input, err := json.Marshal(Week{Number: 1, Length: 300 * time.Millisecond})
	if err != nil {
		return err
	}
	if _, err := eng.Start(ctx, engine.StartRequest{Workflow: DigestSpec.Name, RunID: "news", Input: input}); err != nil {
		return err
	}
	happened := []string{"a house was built", "a tree was planted", "a child was born", "it rained", "it rained again"}
	if err := tell(ctx, eng, happened[:3]); err != nil {
		return err
	}
	got, err := read(ctx, mails, 3)
	if err != nil {
		return err
	}
	if err := tell(ctx, eng, happened[3:]); err != nil {
		return err
	}
	more, err := read(ctx, mails, 2)
	if err != nil {
		return err
	}
	if _, err := eng.Cancel(ctx, engine.CancelRequest{RunID: "news", Reason: "nobody reads it"}); err != nil {
		return err
	}
	end, err := eng.Wait(ctx, "news")
	if err != nil {
		return err
	}
	for i, item := range slices.Concat(got, more) {
		if _, err := fmt.Fprintf(out, "%d %s\n", i+1, item); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%s, after more than one generation: %t\n", end.Status, end.Generation > 1)
	return err
}

// tell sends what happened. The ID of a signal is the thing's own, so that telling again changes nothing.
func tell(ctx context.Context, eng *engine.Engine, happened []string) error {
	for _, what := range happened {
		payload, err := json.Marshal(what)
		if err != nil {
			return err
		}
		if _, err := eng.SendSignal(ctx, engine.SignalRequest{
			RunID: "news", SignalID: spec.SignalID(what), Name: "happened", Payload: payload,
		}); err != nil {
			return err
		}
	}
	return nil
}

// read takes digests until so many items came, and leaves out what it has read.
func read(ctx context.Context, mails mailer, items int) ([]string, error) {
	var got []string
	seen := map[string]bool{}
	for len(got) < items {
		select {
		case m := <-mails:
			if !seen[m.key] {
				seen[m.key] = true
				got = append(got, m.Items...)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return got, nil
}
