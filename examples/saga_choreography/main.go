// Command saga_choreography lets a tenant leave while its people are being onboarded: one run tells the others, each of
// which undoes what it did. One of them has ended before, and one was never there.
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

// steps stand for a mail server.
var steps = []app.Step{
	{Name: "mailbox.create", Do: engine.TypedStep(func(_ context.Context, _ *engine.Step, who string) (string, error) {
		return who + "@tenant.example", nil
	})},
	{Name: "mailbox.remove", Do: engine.TypedStep(func(context.Context, *engine.Step, string) (any, error) { return nil, nil })},
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	flowgate, err := app.Start(ctx, app.Local{
		Registrations: []app.Registration{{Spec: OnboardingSpec, Workflow: Onboard, Steps: steps}, {Spec: CancelSpec, Workflow: CancelTenant}},
		TargetGrace:   200 * time.Millisecond, // an onboarding that is not there by then does not come
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	d := driver{ctx: ctx, eng: flowgate.Engine(), out: out}
	for _, step := range []func() error{
		d.start(OnboardingSpec, "ada", nil), d.start(OnboardingSpec, "ben", nil), d.start(OnboardingSpec, "cleo", nil),
		d.accept("cleo"), d.end("cleo"),
		d.start(CancelSpec, "acme-leaves", Leaving{Tenant: "acme", Onboardings: []spec.RunID{"ada", "ben", "cleo", "dora"}}),
		d.end("acme-leaves"), d.end("ada"), d.end("ben"),
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return d.calls("acme-leaves")
}

// driver makes what the outside world does.
type driver struct {
	ctx context.Context
	eng *engine.Engine
	out io.Writer
}

func (d driver) start(s spec.WorkflowSpec, run spec.RunID, input any) func() error {
	return func() error {
		text, err := json.Marshal(input)
		if err != nil {
			return err
		}
		_, err = d.eng.Start(d.ctx, engine.StartRequest{Workflow: s.Name, RunID: run, Input: text})
		return err
	}
}

func (d driver) accept(run spec.RunID) func() error {
	return func() error {
		_, err := d.eng.SendSignal(d.ctx, engine.SignalRequest{RunID: run, SignalID: "yes", Name: "accepted", Payload: []byte("null")})
		return err
	}
}

func (d driver) end(run spec.RunID) func() error {
	return func() error {
		s, err := d.eng.Wait(d.ctx, run)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(d.out, "%-12s %s: %s%s\n", run, s.Status, s.Output, s.Error)
		return err
	}
}

// calls tells what became of the calls of a run, in the words of its history.
func (d driver) calls(run spec.RunID) error {
	history, err := d.eng.History(d.ctx, run, engine.HistoryQuery{})
	if err != nil {
		return err
	}
	told := map[string]int{}
	for _, e := range history.Events {
		told[e.Type]++
	}
	_, err = fmt.Fprintf(d.out, "%d signals asked for, %d delivered, %d refused for good\n",
		told["call.signal_requested"], told["call.delivered"], told["call.failed"])
	return err
}
