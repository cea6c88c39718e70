package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// database is a PostgreSQL that keeps what it acknowledged over a kill -9.
type database struct {
	cfg    pgembed.Config
	server *pgembed.Server // used by one goroutine at a time

	down    atomic.Bool // between a kill and the end of the recovery
	kills   atomic.Int64
	crashes atomic.Int64 // kills that it has recovered from
	away    atomic.Int64 // nanoseconds, longest
}

// startDatabase starts PostgreSQL in a folder of its own. The SQLSTATE is in every line of its log.
func startDatabase(ctx context.Context, dir string) (*database, error) {
	bin, err := pgembed.Binaries(ctx, filepath.Join(dir, "binaries"))
	if err != nil {
		return nil, err
	}
	d := &database{cfg: pgembed.Config{
		Dir: filepath.Join(dir, "pg"), BinDir: bin, Durable: true,
		Params: []string{"log_line_prefix=%m [%p] %e ", "max_wal_size=512MB"},
	}}
	return d, d.start(ctx)
}

func (d *database) start(ctx context.Context) error {
	server, err := pgembed.Start(ctx, d.cfg)
	if err != nil {
		return err
	}
	if server.Attached() {
		return errors.New("somebody else's PostgreSQL runs in the folder of the soak")
	}
	d.server = server
	return nil
}

// crash kills the postmaster with SIGKILL and starts PostgreSQL again, which recovers from its log. The other processes of
// the server end by themselves when they notice; until then they hold the folder, and the start waits for them.
func (d *database) crash(ctx context.Context) error {
	pid, err := d.postmaster()
	if err != nil {
		return err
	}
	select {
	case <-d.server.Done():
		return errors.New("PostgreSQL ended by itself")
	default:
	}
	from := time.Now()
	d.down.Store(true)
	d.kills.Add(1)
	defer d.down.Store(false)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the postmaster: %w", err)
	}
	select {
	case <-d.server.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	d.crashes.Add(1)
	d.away.Store(max(d.away.Load(), int64(time.Since(from))))
	return nil
}

// postmaster is the process ID of the server's first process.
func (d *database) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(d.server.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strconv.Atoi(string(line))
}

// socket is where the server listens.
func (d *database) socket() string { return filepath.Join(d.server.Dir(), "sock", ".s.PGSQL.5432") }

// logs are the files that PostgreSQL wrote for people.
func (d *database) logs() ([]string, error) {
	return filepath.Glob(filepath.Join(d.server.Dir(), "postgres.log*"))
}
