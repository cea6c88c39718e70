// Package pgtest gives each test a PostgreSQL database of its own, migrated and empty.
//
// The first test of a binary that asks for one starts a throw-away server, which ends with the binary; a binary whose
// tests ask for none starts nothing. With TEST_DATABASE_URL set to the maintenance database of a server, whose user may
// create databases, the databases are made there and dropped again. PGTEST_DIR names the folder for servers, else it is
// memory (/dev/shm) where that has room, else the folder for temporary files.
//
// It owns servers, templates and databases of tests. It must not know the schema: the migration is a parameter.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Limits of what this package waits for.
const (
	startWithin = 3 * time.Minute // the first start of a machine may fetch PostgreSQL
	closeWithin = 30 * time.Second
)

// Migrate brings the database behind a URL to the schema of the tests. It must close its connections: a database in use
// cannot be copied.
type Migrate = func(ctx context.Context, url string) error

// Runner is what Run runs: a *testing.M, or something around one.
type Runner interface{ Run() int }

// current is the suite of this test binary.
var current atomic.Pointer[suite]

// Main is for TestMain: it runs the tests with databases migrated by migrate, stops the server and exits.
func Main(m Runner, migrate Migrate) { os.Exit(Run(m, migrate)) }

// Run is Main without the exit, for a TestMain that looks for leaked goroutines or cleans up afterwards. It returns the
// exit code: that of the tests, or 1 when the databases could not be cleaned up. Nothing of it runs on when it returns.
func Run(m Runner, migrate Migrate) int {
	s := newSuite(migrate)
	if !current.CompareAndSwap(nil, s) {
		fmt.Fprintln(os.Stderr, "pgtest: Run was called before in this test binary")
		return 1
	}
	defer current.Store(nil)
	code := m.Run()
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// URL names a new database, a migrated and empty one that only this test uses. It is gone after the test at the
// earliest, and after the test binary at the latest.
func URL(t testing.TB) string {
	t.Helper()
	s := current.Load()
	if s == nil {
		t.Fatal("pgtest: no TestMain of this package calls pgtest.Main or pgtest.Run")
	}
	server, err := s.server()
	if err != nil {
		t.Fatal(err)
	}
	name, err := server.create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if server.external {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
			defer cancel()
			if err := server.drop(ctx, name); err != nil {
				t.Error(err)
			}
		})
	}
	return server.url(name)
}

// New is a pool on a database of the test's own, as URL makes it. The pool is closed at the test's end, which fails the
// test when a connection was not given back.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closePool(pool); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// closePool reports a connection that was never released, for which Close alone would wait for ever.
func closePool(pool *pgxpool.Pool) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-closed:
		return nil
	case <-timer.C:
		return errors.New("pgtest: a connection of the pool was not released")
	}
}
