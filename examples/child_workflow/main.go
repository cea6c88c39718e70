// Command child_workflow books two trips. Each is a run that starts others, waits for what comes of them, and takes those
// along that make no sense without it.
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
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{
		{Spec: TripSpec, Workflow: BookTrip}, {Spec: BookingSpec, Workflow: Book}, {Spec: SurveySpec, Workflow: Ask},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	d := driver{eng: flowgate.Engine(), out: out}
	return errors.Join(d.goodTrip(ctx), d.badTrip(ctx))
}

type driver struct {
	eng *engine.Engine
	out io.Writer
}

// goodTrip answers both children.
func (d driver) goodTrip(ctx context.Context) error {
	return errors.Join(
		d.start(ctx, "lisbon"),
		d.signal(ctx, "lisbon/hotel", "confirmed", `"H7"`),
		d.signal(ctx, "lisbon/flight", "confirmed", `"F1"`),
		d.ends(ctx, "lisbon/flight", "lisbon/hotel", "lisbon"),
		d.signal(ctx, "lisbon/survey", "rated", "5"),
		d.ends(ctx, "lisbon/survey"),
	)
}

// badTrip has one child fail: its parent fails, and the other child is cancelled.
func (d driver) badTrip(ctx context.Context) error {
	return errors.Join(
		d.start(ctx, "rome"),
		d.signal(ctx, "rome/hotel", "sold-out", "null"),
		d.ends(ctx, "rome/hotel", "rome", "rome/flight"),
		d.signal(ctx, "rome/survey", "rated", "1"),
		d.ends(ctx, "rome/survey"),
	)
}

func (d driver) start(ctx context.Context, run spec.RunID) error {
	_, err := d.eng.Start(ctx, engine.StartRequest{Workflow: TripSpec.Name, RunID: run})
	return err
}

// signal sends a signal to a run that its parent may not have started yet.
func (d driver) signal(ctx context.Context, run spec.RunID, name, payload string) error {
	for {
		_, err := d.eng.SendSignal(ctx, engine.SignalRequest{
			RunID: run, SignalID: spec.SignalID(name), Name: name, Payload: []byte(payload),
		})
		if !errors.Is(err, engine.ErrRunNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ends waits for the ends of runs and tells them.
func (d driver) ends(ctx context.Context, runs ...spec.RunID) error {
	for _, run := range runs {
		s, err := d.eng.Wait(ctx, run)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(d.out, "%-14s %-9s %s%s\n", run, s.Status, s.Output, s.Error); err != nil {
			return err
		}
	}
	return nil
}
