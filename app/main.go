package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/flowgate-go/flowgate/tokens"
)

// Main is the whole main of a program with these workflows: it runs the command that the arguments name and exits with
// ExitCode. SIGINT and SIGTERM stop a server gracefully; a second one ends the process at once.
func Main(registrations ...Registration) {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before anybody can see the stop: the next signal has its default effect
		stop()
	}()
	err := Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr, registrations...)
	if err != nil {
		fmt.Fprintf(tokens.ScrubWriter(os.Stderr), "flowgate: %v\n", err)
	}
	os.Exit(ExitCode(err))
}

// Run is Main without the process around it: the end of ctx takes the place of signals, and the error is returned
// instead of printed. Answers go to stdout, the log to stderr. It returns once all that it started has ended.
//
// Errors: *UsageError, *SettingError, *RefusedError, or what made a part of the program fail.
func Run(
	ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, registrations ...Registration,
) error {
	err := run(ctx, args, invocation{getenv: getenv, stdout: stdout, stderr: stderr, registrations: registrations})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to stop while it was starting
	}
	return err
}

// invocation is what a command is given beside its settings.
type invocation struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	registrations  []Registration
}
