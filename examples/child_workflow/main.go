// Command child_workflow books two trips. Each is a run that starts others, waits for what comes of them, and takes those
// along that make no sense without it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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
	d := driver{ctx: ctx, eng: flowgate.Engine(), out: out}
	for _, step := range []func() error{
		// Both children are answered.
		d.start("lisbon"),
		d.signal("lisbon/hotel", "confirmed", `"H7"`), d.signal("lisbon/flight", "confirmed", `"F1"`),
		d.end("lisbon/flight"), d.end("lisbon/hotel"), d.end("lisbon"),
		d.signal("lisbon/survey", "rated", "5"), d.end("lisbon/survey"),
		// One child fails: its parent fails, and the other child is cancelled.
		d.start("rome"), d.started("rome/flight"), d.started("rome/survey"),
		d.signal("rome/hotel", "sold-out", "null"), d.end("rome/hotel"), d.end("rome"), d.end("rome/flight"),
		d.signal("rome/survey", "rated", "1"), d.end("rome/survey"),
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// driver makes what the outside world does.
type driver struct {
	ctx context.Context
	eng *engine.Engine
	out io.Writer
}

func (d driver) start(run spec.RunID) func() error {
	return func() error {
		_, err := d.eng.Start(d.ctx, engine.StartRequest{Workflow: TripSpec.Name, RunID: run})
		return err
	}
}

// started waits for a child that its parent may not have started yet.
func (d driver) started(run spec.RunID) func() error {
	return d.patiently(func() error {
		_, err := d.eng.Snapshot(d.ctx, run)
		return err
	})
}

func (d driver) signal(run spec.RunID, name, payload string) func() error {
	return d.patiently(func() error {
		_, err := d.eng.SendSignal(d.ctx, engine.SignalRequest{
			RunID: run, SignalID: spec.SignalID(name), Name: name, Payload: []byte(payload),
		})
		return err
	})
}

// patiently asks again while there is no such run.
func (d driver) patiently(ask func() error) func() error {
	return func() error {
		for {
			if err := ask(); !errors.Is(err, engine.ErrRunNotFound) {
				return err
			}
			select {
			case <-d.ctx.Done():
				return d.ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// end waits for the end of a run and tells it.
func (d driver) end(run spec.RunID) func() error {
	return func() error {
		s, err := d.eng.Wait(d.ctx, run)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%-14s %-9s %s%s", run, s.Status, s.Output, s.Error)
		_, err = fmt.Fprintln(d.out, strings.TrimSpace(line))
		return err
	}
}
