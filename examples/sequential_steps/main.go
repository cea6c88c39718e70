// Command sequential_steps buys two things: three side effects one after the other, each with the output of the one before,
// and a way back when the second is refused.
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

// orders is the workflow with its steps, as a program registers them.
func orders(out io.Writer) app.Registration {
	s := shop{out: out}
	return app.Registration{Spec: OrderSpec, Workflow: Order, Steps: []app.Step{
		{Name: "stock.reserve", Do: engine.TypedStep(s.reserve)},
		{Name: "stock.release", Do: engine.TypedStep(s.release)},
		{Name: "card.charge", Do: engine.TypedStep(s.charge), Settings: []engine.StepSetting{engine.InQueue("payments")}},
		{Name: "parcel.send", Do: engine.TypedStep(s.ship)},
	}}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{orders(out)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	for _, order := range []struct {
		run   spec.RunID
		input string
	}{
		{"order-1", `{"item":"bicycle","cents":90000,"card":"good"}`},
		{"order-2", `{"item":"bell","cents":900,"card":"stolen"}`},
	} {
		if err := buy(ctx, flowgate.Engine(), out, order.run, order.input); err != nil {
			return err
		}
	}
	return nil
}

// buy places an order and tells how it ends.
func buy(ctx context.Context, eng *engine.Engine, out io.Writer, run spec.RunID, input string) error {
	if _, err := fmt.Fprintf(out, "%s\n", run); err != nil {
		return err
	}
	if _, err := eng.Start(ctx, engine.StartRequest{Workflow: OrderSpec.Name, RunID: run, Input: []byte(input)}); err != nil {
		return err
	}
	end, err := eng.Wait(ctx, run)
	if err != nil {
		return err
	}
	history, err := eng.History(ctx, run, engine.HistoryQuery{})
	if err != nil {
		return err
	}
	for _, e := range history.Events {
		if _, err := fmt.Fprintf(out, "  %d %s\n", e.Seq, e.Type); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "  %s: %s\n", end.Status, end.Output)
	return err
}
