// Command long_steps does what takes long: one step reports how far it has come and goes on there after a failure, one is
// stopped while it is at work, and one is done by somebody else, who says so by a link.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	rows := source{out: out, hanging: make(chan struct{}, 1), ended: make(chan error, 1)}
	shop := make(printShop)
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{
		{Spec: ImportSpec, Workflow: Import, Steps: []app.Step{{Name: "rows.copy", Do: engine.TypedStep(rows.copyRows)}}},
		{Spec: LeafletSpec, Workflow: Leaflet, Steps: []app.Step{{Name: "print.order", Do: engine.TypedStep(shop.order)}}},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	d := driver{eng: flowgate.Engine(), rows: rows, shop: shop, out: out}
	for _, part := range []func(context.Context) error{d.resume, d.stop, d.print} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

type driver struct {
	eng  *engine.Engine
	rows source
	shop printShop
	out  io.Writer
}

// resume has four rows copied, in two attempts.
func (d driver) resume(ctx context.Context) error {
	if err := d.start(ctx, ImportSpec, "four-rows", "4"); err != nil {
		return err
	}
	return d.end(ctx, "four-rows")
}

// stop has five rows copied, of which the last takes too long for everybody.
func (d driver) stop(ctx context.Context) error {
	if err := d.start(ctx, ImportSpec, "five-rows", "5"); err != nil {
		return err
	}
	select {
	case <-d.rows.hanging:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := d.eng.SendSignal(ctx, engine.SignalRequest{RunID: "five-rows", SignalID: "s", Name: "stop", Payload: []byte("null")})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(d.out, "  the function is told: %v\n", <-d.rows.ended); err != nil {
		return err
	}
	return d.end(ctx, "five-rows")
}

// print is the print shop, which is done some time after it took the order.
func (d driver) print(ctx context.Context) error {
	if err := d.start(ctx, LeafletSpec, "leaflet", "null"); err != nil {
		return err
	}
	var j job
	select {
	case j = <-d.shop:
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, err := fmt.Fprintf(d.out, "  ordered: %d sheets\n", j.sheets); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, j.answer, strings.NewReader(fmt.Sprintf(`{"sheets":%d}`, j.sheets)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	return d.end(ctx, "leaflet")
}

func (d driver) start(ctx context.Context, s spec.WorkflowSpec, run spec.RunID, input string) error {
	if _, err := fmt.Fprintln(d.out, run); err != nil {
		return err
	}
	_, err := d.eng.Start(ctx, engine.StartRequest{Workflow: s.Name, RunID: run, Input: []byte(input)})
	return err
}

func (d driver) end(ctx context.Context, run spec.RunID) error {
	s, err := d.eng.Wait(ctx, run)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.out, "  %s: %s%s\n", s.Status, s.Output, s.Error)
	return err
}
