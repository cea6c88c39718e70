package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flowgate-go/flowgate/tokens"
)

// Program is a program with workflows of its own. Its zero value is one without any.
type Program struct {
	Registrations []Registration
	// Clock is the clock of serve and worker, as in engine.Config; nil is time.Now.
	Clock func() time.Time
	// Stdin is what commands read for a payload given as "-"; nil is the standard input of the process.
	Stdin io.Reader
}

// Main is the whole main of a program with these workflows: Program.Main with this machine's clock.
func Main(registrations ...Registration) { Program{Registrations: registrations}.Main() }

// Main runs the command that the arguments of the process name and exits with ExitCode. SIGINT and SIGTERM stop a server
// gracefully; a second one ends the process at once.
func (p Program) Main() {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before anybody can see the stop: the next signal has its default effect
		stop()
	}()
	err := p.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintf(tokens.ScrubWriter(os.Stderr), "flowgate: %v\n", err)
	}
	os.Exit(ExitCode(err))
}

// Run is Program.Run of a program with these workflows and this machine's clock.
func Run(
	ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, registrations ...Registration,
) error {
	return Program{Registrations: registrations}.Run(ctx, args, getenv, stdout, stderr)
}

// Run is Main without the process around it: the end of ctx takes the place of signals, and the error is returned
// instead of printed. Answers go to stdout, the log to stderr. It returns once all that it started has ended.
//
// Errors: *UsageError, *SettingError, *RefusedError, *EndedError, *DifferencesError, or what made a part of the program fail.
func (p Program) Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	if p.Stdin == nil {
		p.Stdin = os.Stdin
	}
	err := run(ctx, args, invocation{
		getenv: getenv, stdout: stdout, stderr: stderr, registrations: p.Registrations, clock: p.Clock, stdin: p.Stdin,
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to stop while it was starting
	}
	return err
}

// invocation is what a command is given beside its settings.
type invocation struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	registrations  []Registration
	clock          func() time.Time // nil: time.Now
}

func (i invocation) now() time.Time {
	if i.clock != nil {
		return i.clock()
	}
	return time.Now()
}
