// Command soak breaks a deployment of Flowgate under load and proves from a ledger that nothing acknowledged was lost or
// doubled.
//
// It starts a durable PostgreSQL and three processes of flowgate serve with workflows of its own, and plays many callers:
// they start runs, send signals, answer, withdraw and outwait hooks, repeat themselves and contradict themselves.
// Meanwhile it kills a process with SIGKILL every second and PostgreSQL every twenty, cuts connections, drops
// notifications, and has one process live with a clock that is minutes off. Every answer is written to the ledger before
// it counts. At the end of a round of about a minute it stops breaking things, waits until the runs have come to rest,
// sends everything again, reads everything that there is, and compares.
//
// It exits with 0 when all is as it was acknowledged, else with 1. The seed makes its choices again, not their timing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	length    time.Duration // of the load
	seed      uint64
	dir       string // where the folder of the soak is made
	keep      bool
	perSecond int
	quiet     time.Duration // how long callers, and then runs, may take to come to rest after the last fault
}

// bound is how long the soak may take altogether: a minute beside the load, and a little more for many rounds.
func (o options) bound() time.Duration { return o.length + time.Minute + o.length/20 }

func main() {
	if isProgram(os.Args) {
		program()
	}
	o := options{quiet: 30 * time.Second}
	flag.DurationVar(&o.length, "for", time.Minute, "how long to break things, 5s to 24h")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "makes the choices of an earlier soak again")
	flag.StringVar(&o.dir, "dir", "", "folder to work in; empty: the one for temporary files")
	flag.BoolVar(&o.keep, "keep", false, "keep the ledger, the logs and the database also when all is well")
	flag.IntVar(&o.perSecond, "rate", 250, "messages a second, at most")
	flag.Parse()
	if o.length < 5*time.Second || o.length > 24*time.Hour || o.perSecond < 1 || o.perSecond > 10_000 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := execute(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "soak: FAILED: %v\n", err)
		os.Exit(1)
	}
}

// errTooLong ends a soak that does not end by itself.
var errTooLong = errors.New("the soak takes too long")

// execute makes the folder, soaks, reports, and removes the folder when all is well.
func execute(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.bound(), fmt.Errorf("%w: more than %s", errTooLong, o.bound()))
	defer cancel()
	dir, err := os.MkdirTemp(o.dir, "flowgate-soak-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as root, PostgreSQL runs under another account
		return err
	}
	fmt.Fprintf(os.Stdout, "soak: seed %d, %s of load, in %s\n", o.seed, o.length, dir)
	s := &soak{options: o, dir: dir, from: time.Now(), tally: newTally(), census: newCensus()}
	// The last resort: whatever does not listen to ctx.
	watchdog := time.AfterFunc(o.bound()+20*time.Second, func() {
		fmt.Fprintf(os.Stderr, "soak: FAILED: it hangs while it %s; seed %d, see %s\n", s.step(), o.seed, dir)
		os.Exit(1)
	})
	defer watchdog.Stop()
	err = s.run(ctx)
	s.report(os.Stdout)
	if err != nil {
		return fmt.Errorf("%w\nsoak: seed %d; the ledger, the logs and the database are in %s", err, o.seed, dir)
	}
	if o.keep {
		fmt.Fprintf(os.Stdout, "soak: all is well; see %s\n", dir)
		return nil
	}
	fmt.Fprintln(os.Stdout, "soak: all is well")
	return os.RemoveAll(dir)
}
