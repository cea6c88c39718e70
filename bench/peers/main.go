// Command peers puts other durable engines through the jobs that Flowgate's own benchmark measures, through their public
// APIs and on the PostgreSQL server that it is given: start a run that waits for one signal, deliver the signal durably,
// see the run resume and complete; and start a run of three steps in sequence and see it complete. The README says how each peer is set up and what its figures mean.
//
// The program is a module of its own, so that no peer becomes a dependency of Flowgate. It makes one database for each
// peer and drops it again, changes no setting of the server, and ends in time whatever a peer does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Limits of the command line.
const (
	maxRuns  = 100_000
	maxTrips = 100_000
)

// options are the command line.
type options struct {
	database  string
	runs      int
	trips     int
	jobs      []job
	only      []string
	timeout   time.Duration
	json      bool
	serverPID int
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
	log.SetOutput(io.Discard) // what a library still says, although its own logger is silent
	slog.SetDefault(silent())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// parse reads the command line. It prints the usage to w when that is asked for or a flag is wrong.
func parse(args []string, w io.Writer) (options, error) {
	var (
		o          options
		only, jobs string
	)
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(w)
	flags.StringVar(&o.database, "database", "",
		"`URL` of a PostgreSQL database; its user may create databases and read all statistics")
	flags.IntVar(&o.runs, "runs", 2000, "runs that are parked and then signalled by 64 clients, and as many of three steps with 64 in flight")
	flags.IntVar(&o.trips, "trips", 500, "round trips for 1, 16 and 64 in flight each; peers that poll slowly make fewer")
	flags.StringVar(&only, "only", "", "`names` of the peers to measure, with commas between them; all by default")
	flags.StringVar(&jobs, "jobs", "", "`jobs` to do, with commas between them: signal, steps; both by default")
	flags.DurationVar(&o.timeout, "timeout", 6*time.Minute,
		"for all peers together; each has an equal share of what is left")
	flags.BoolVar(&o.json, "json", false, "print one JSON object instead of a table")
	flags.IntVar(&o.serverPID, "server-pid", 0,
		"process ID of the server's postmaster, for its CPU time; found if the server is local")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	var err error
	if o.jobs, err = parseJobs(jobs); err != nil {
		return o, err
	}
	return o, o.check(flags.Args())
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.database == "":
		return errors.New("-database is required")
	case o.runs < 1 || o.runs > maxRuns:
		return fmt.Errorf("-runs must be from 1 to %d", maxRuns)
	case o.trips < 1 || o.trips > maxTrips:
		return fmt.Errorf("-trips must be from 1 to %d", maxTrips)
	case o.timeout <= 0:
		return errors.New("-timeout must be positive")
	}
	return nil
}

// run measures the chosen peers one after the other and prints the report to w. A peer that gives no figures is part of
// the report and no error.
func run(ctx context.Context, o options, w io.Writer) error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	server, err := pgx.ParseConfig(o.database)
	if err != nil {
		return fmt.Errorf("-database: %w", err)
	}
	interrupted := ctx
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	admin, err := pgx.ConnectConfig(ctx, server)
	if err != nil {
		return fmt.Errorf("-database: %w", err)
	}
	if err := admin.Close(ctx); err != nil {
		return err
	}
	var report report
	for i, e := range chosen {
		report.Peers = append(report.Peers, measured(ctx, e, o, server, len(chosen)-i))
	}
	write := report.writeTable
	if o.json {
		write = report.writeJSON
	}
	return errors.Join(write(w), interrupted.Err())
}

// silent is the logger that every peer is given.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
