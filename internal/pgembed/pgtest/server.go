package pgtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// server is where the databases of a test binary are.
type server struct {
	admin    *url.URL // of the maintenance database
	external bool     // brought by the user: outlives us, so our databases must not
	prefix   string   // of the names of our databases: they say whose they are
	number   atomic.Int64
	own      *pgembed.Server // nil when external
}

// throwAway starts a server of this process, from a data directory that initdb made once on this machine.
func throwAway(ctx context.Context) (*server, error) {
	own, err := launch(ctx, false)
	if err != nil {
		return nil, err
	}
	admin, err := url.Parse(own.URL())
	if err != nil {
		return nil, err
	}
	return &server{admin: admin, prefix: prefix(os.Getpid()), own: own}, nil
}

// bring takes a server of the user's and removes from it what dead test binaries of this machine left.
func bring(ctx context.Context, text string) (*server, error) {
	admin, err := url.Parse(text)
	if err != nil || (admin.Scheme != "postgres" && admin.Scheme != "postgresql") {
		return nil, errors.New("pgtest: TEST_DATABASE_URL: want a URL such as postgres://user@host:5432/postgres")
	}
	s := &server{admin: admin, prefix: prefix(os.Getpid()), external: true}
	if err := s.sweep(ctx); err != nil {
		return nil, fmt.Errorf("pgtest: TEST_DATABASE_URL: %w", err)
	}
	return s, nil
}

// machine tells the databases of this machine's test binaries from those of others on the same server.
func machine() string {
	name, _ := os.Hostname() // without a name all machines look alike, which only leaves more behind
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("fgt_%08x_", h.Sum32())
}

func prefix(pid int) string { return machine() + strconv.Itoa(pid) + "_" }

// url is the address of one database.
func (s *server) url(database string) string {
	u := *s.admin
	u.Path = "/" + database
	return u.String()
}

func (s *server) template() string { return s.prefix + "template" }

// makeTemplate migrates the database that all others are copies of, and closes it: a connection to it would keep
// copies from being made.
func (s *server) makeTemplate(ctx context.Context, migrate Migrate) error {
	if err := s.exec(ctx, "create database "+s.template()); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if migrate != nil {
		if err := migrate(ctx, s.url(s.template())); err != nil {
			return fmt.Errorf("pgtest: migrate: %w", err)
		}
	}
	if err := s.exec(ctx, "alter database "+s.template()+" allow_connections false"); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

// create makes a new copy of the template.
func (s *server) create(ctx context.Context) (name string, err error) {
	name = s.prefix + strconv.FormatInt(s.number.Add(1), 10)
	if err := s.exec(ctx, "create database "+name+" template "+s.template()); err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	return name, nil
}

func (s *server) drop(ctx context.Context, name string) error {
	if err := s.exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

// close ends a throw-away server, and drops our databases on another one.
func (s *server) close(ctx context.Context) error {
	if s.own != nil {
		s.own.Kill()
		return os.RemoveAll(s.own.Dir())
	}
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	return s.dropAll(ctx, func(pid int) bool { return pid == os.Getpid() })
}

// abandon closes a server that could not be set up, and returns the rest of the error message.
func (s *server) abandon(ctx context.Context) string {
	if err := s.close(ctx); err != nil {
		return fmt.Sprintf(" (and: %v)", err)
	}
	return ""
}

// sweep drops the databases of test binaries that were killed.
func (s *server) sweep(ctx context.Context) error { return s.dropAll(ctx, dead) }

// dropAll drops the databases of this machine's test binaries of some process IDs.
func (s *server) dropAll(ctx context.Context, whose func(pid int) bool) error {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "select datname from pg_database where starts_with(datname, $1)", machine())
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		id, _, _ := strings.Cut(strings.TrimPrefix(name, machine()), "_")
		pid, err := strconv.Atoi(id)
		if err != nil || !whose(pid) {
			continue
		}
		if err := s.drop(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// exec runs one statement on a connection of its own: databases are not made in transactions.
func (s *server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// dead reports whether a process ID is free. One that another process got in the meantime counts as living: the
// left-overs then stay a little longer.
func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
