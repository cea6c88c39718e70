// Command bench is the yardstick of Flowgate. It starts a private, durable PostgreSQL, and measures in one run what the
// database itself can do, what floors without an engine reach, and what the engine reaches through its Go API and through
// the HTTP gateway; with -peers also what other engines reach on the same server. All clients run in this process, or in
// that of the peers. It prints a table with ratios and targets, or with -json one object.
//
// Absolute figures do not hold across machines; ratios do, roughly. Every result is checked: a run that did not complete
// is not counted, and a wrong one makes the exit code 1. It is bounded in time and leaves nothing behind.
//
// With -url it loads a service that runs already, over HTTP, in place of all this.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/report"
)

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := execute(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errWrong is the end of a program that measured, but not what should have come out.
var errWrong = errors.New("some results are wrong or missing; see the output")

// execute measures and writes the figures to out, all else to log.
func execute(ctx context.Context, o options, out, log io.Writer) error {
	figures := &report.Figures{}
	ctx, cancel := context.WithTimeoutCause(ctx, o.bound(), fmt.Errorf("the time of %s is over", o.bound()))
	defer cancel()
	measured := measureHere
	if o.url != "" {
		measured = loadService
	}
	begin := time.Now()
	if err := profiled(o.profile, func() error { return measured(ctx, o, figures, log) }); err != nil {
		figures.Fail("bench", err)
	}
	figures.Add("took_s", time.Since(begin).Seconds())
	write := figures.WriteTable
	if o.json {
		write = figures.WriteJSON
	}
	if err := write(out); err != nil {
		return err
	}
	if len(figures.Failed()) > 0 {
		return errWrong
	}
	return nil
}

// profiled does work, and writes a CPU profile of it where a file is named.
func profiled(file string, work func() error) error {
	if file == "" {
		return work()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}
