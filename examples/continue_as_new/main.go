// Command continue_as_new keeps an account that is booked on without end: its run begins a new generation after every third
// booking. Callers notice nothing: the run's ID, its links and what was sent to it stay as they are.
package main

import (
	"context"
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
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{{Spec: AccountSpec, Workflow: Keep}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	eng := flowgate.Engine()
	if _, err := eng.Start(ctx, engine.StartRequest{
		Workflow: AccountSpec.Name, RunID: "savings", Input: []byte(`{"balance":0,"bookings":0}`),
	}); err != nil {
		return err
	}
	for i := range 10 {
		if err := book(ctx, eng, out, i, i+1); err != nil {
			return err
		}
	}
	// The first generation took this booking. Its identity holds for the life of the run.
	if err := book(ctx, eng, out, 0, 1); err != nil {
		return err
	}
	if err := await(ctx, eng, 10); err != nil {
		return err
	}
	if _, err := eng.ResumeHook(ctx, engine.HookRequest{RunID: "savings", HookID: "close", Payload: []byte(`null`)}); err != nil {
		return err
	}
	end, err := eng.Wait(ctx, "savings")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s in generation %d: %s\n", end.Status, end.Generation, end.Output)
	return err
}

// book sends a booking, whatever generation the run is in.
func book(ctx context.Context, eng *engine.Engine, out io.Writer, n, cents int) error {
	r, err := eng.SendSignal(ctx, engine.SignalRequest{
		RunID: "savings", SignalID: spec.SignalID(engine.ID("booking", n)), Name: "booked", Payload: fmt.Append(nil, cents),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "booking-%d: %d, %s\n", n, cents, r.Verdict)
	return err
}

// await waits until the run has read so many bookings.
func await(ctx context.Context, eng *engine.Engine, bookings int) error {
	last := spec.SignalID(engine.ID("booking", bookings-1))
	for {
		r, err := eng.Receipt(ctx, "savings", last)
		if err != nil || r.State == engine.SignalConsumed {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
