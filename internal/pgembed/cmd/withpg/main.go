// Command withpg runs a command with DATABASE_URL naming a new, migrated PostgreSQL of its own, and ends the server when
// the command has ended:
//
//	go run ./internal/pgembed/cmd/withpg go tool -modfile=tools/go.mod sqlc vet
//
// Its exit code is that of the command, or 2 when there was no database to run it on. It is a tool for building this
// project and knows only how to start a server and how to migrate it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// exitNoDatabase tells a missing database from a failed command.
const exitNoDatabase = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
		code = exitNoDatabase
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (code int, err error) {
	if len(args) == 0 {
		return 0, errors.New("usage: withpg command [argument...]")
	}
	bin, err := pgembed.Binaries(ctx, filepath.Join(pgembed.DefaultDir(), "binaries"))
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "fgwithpg-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // as root, the server runs under another account
		return 0, err
	}
	server, err := pgembed.Start(ctx, pgembed.Config{Dir: dir, BinDir: bin})
	if err != nil {
		return 0, err
	}
	defer server.Kill()
	if err := db.Migrate(ctx, server.URL()); err != nil {
		return 0, err
	}
	return command(ctx, server.URL(), args)
}

// command runs with our input and outputs, and gets SIGTERM rather than SIGKILL when we are told to end. It has said
// itself why it failed: that is an exit code here, and no error.
func command(ctx context.Context, url string, args []string) (code int, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil // -1 is a signal's
	}
	return 0, err
}
