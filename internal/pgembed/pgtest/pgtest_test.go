package pgtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Run(m, migrate)
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func migrate(ctx context.Context, url string) error {
	return exec1(ctx, url, "create table items (id int primary key)")
}

// exec1 runs one statement on a connection of its own.
func exec1(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

func count(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), "select count(*) from items").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			if _, err := pool.Exec(t.Context(), "insert into items values (1)"); err != nil {
				t.Fatal(err) // a second insert into one table would break its key
			}
			other := pgtest.URL(t)
			if n := count(t, other); n != 0 {
				t.Errorf("a new database holds %d rows, want none", n)
			}
		})
	}
}

// A test that connected to the template would break the copies of all tests that come after it.
func TestTemplateIsClosed(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = u.Path[:strings.LastIndex(u.Path, "_")] + "_template"
	var refused *pgconn.PgError
	if err := exec1(t.Context(), u.String(), "select 1"); !errors.As(err, &refused) || refused.Code != "55000" {
		t.Errorf("connecting to %s: %v, want a refusal", u.Path, err)
	}
}

func TestDedicatedKeepsItsDataOverAKill(t *testing.T) {
	t.Parallel()
	s := pgtest.Dedicated(t, migrate)
	if err := exec1(t.Context(), s.URL(), "insert into items values (1), (2)"); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if err := exec1(t.Context(), s.URL(), "select 1"); err == nil {
		t.Fatal("a killed server answered")
	}
	s = pgtest.Restart(t, s)
	if n := count(t, s.URL()); n != 2 {
		t.Errorf("after the restart %d rows, want 2", n)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := pgtest.Dedicated(t, nil)
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	resume := pgtest.Pause(t, s)
	answer := make(chan error, 1)
	go func() { _, err := conn.Exec(t.Context(), "select 1"); answer <- err }()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := exec1(short, s.URL(), "select 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a new connection to a paused server: %v, want a deadline", err)
	}
	select {
	case err := <-answer:
		t.Errorf("a paused connection answered: %v", err)
	default:
	}
	resume()
	if err := <-answer; err != nil {
		t.Errorf("after resume: %v", err)
	}
}

// The binary runs itself against a server as a user would bring it, with left-overs of a dead run on it.
func TestBroughtServerIsLeftClean(t *testing.T) {
	t.Parallel()
	s := pgtest.Dedicated(t, nil)
	if err := exec1(t.Context(), s.URL(), "create database "+pgtest.NameOf(deadPID(t))+"7"); err != nil {
		t.Fatal(err)
	}
	if err := exec1(t.Context(), s.URL(), "create database "+pgtest.NameOf(os.Getpid())+"7"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^(TestEachTestHasItsOwnDatabase|TestTemplateIsClosed)$", "-test.v")
	cmd.Env = append(os.Environ(), "TEST_DATABASE_URL="+s.URL())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS") < 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), "select datname from pg_database where datname like 'fgt%'")
	if err != nil {
		t.Fatal(err)
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0] != pgtest.NameOf(os.Getpid())+"7" {
		t.Errorf("left on the server: %v, want only the database of a living process", left)
	}
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTemplateIsClosed$")
	cmd.Env = append(os.Environ(), "TEST_DATABASE_URL=host=localhost user=x password=hush")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "TEST_DATABASE_URL: want a URL") {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "hush") {
		t.Error("the error shows the password")
	}
}

// deadPID is the process ID of a program that ended and was reaped.
func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}
