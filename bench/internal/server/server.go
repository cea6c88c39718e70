package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// params are the settings of the server, beside those that a durable server of pgembed has. What decides over
// durability stays as found: fsync, synchronous_commit, wal_sync_method, full_page_writes.
var params = []string{
	"shared_buffers=256MB", "max_wal_size=8GB", "min_wal_size=1GB", "checkpoint_timeout=15min", "max_connections=300",
}

// shown are the settings that Describe tells.
var shown = []string{
	"server_version", "fsync", "synchronous_commit", "wal_sync_method", "full_page_writes", "wal_level", "shared_buffers",
	"max_wal_size", "checkpoint_timeout", "wal_compression", "autovacuum",
}

// Server is a running PostgreSQL of its own, with a folder of its own in the folder for temporary files.
type Server struct {
	pg       *pgembed.Server
	dir, bin string
	template string
	count    int           // of databases made
	tracks   bool          // has pg_stat_statements
	keeps    bool          // counts all statements
	calm     time.Duration // of a commit, when the disk was at its best
}

// Start brings the server up and makes the template that databases are copied from; migrate brings it to its schema.
// ctx bounds the start. Close ends what Start began, also when it failed half-way.
func Start(ctx context.Context, migrate func(ctx context.Context, url string) error) (_ *Server, err error) {
	s := &Server{template: "flowgate_template"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "flowgate-bench-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // as root, PostgreSQL runs under another account
		return nil, err
	}
	if s.bin, err = pgembed.Binaries(ctx, filepath.Join(pgembed.DefaultDir(), "binaries")); err != nil {
		return nil, err
	}
	cfg := pgembed.Config{Dir: filepath.Join(s.dir, "pg"), BinDir: s.bin, Durable: true, Params: params}
	if s.tracks = hasStatements(ctx, s.bin); s.tracks {
		cfg.Params = append(cfg.Params, "shared_preload_libraries=pg_stat_statements")
	}
	if s.pg, err = pgembed.Start(ctx, cfg); err != nil {
		return nil, err
	}
	if err := s.trackStatements(ctx, false); err != nil {
		return nil, err
	}
	if err := s.checkDurable(ctx); err != nil {
		return nil, err
	}
	return s, s.makeTemplate(ctx, migrate)
}

func (s *Server) makeTemplate(ctx context.Context, migrate func(ctx context.Context, url string) error) error {
	if err := s.do(ctx, "CREATE DATABASE "+s.template); err != nil {
		return err
	}
	return migrate(ctx, s.urlOf(s.template))
}

// Close kills the server and removes its folder: there is nothing in it to keep.
func (s *Server) Close() error {
	if s.pg != nil {
		s.pg.Kill()
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Dir is a folder for files that end with the server.
func (s *Server) Dir() string { return s.dir }

// errNotDurable: figures of a server that may lose commits would be worth nothing.
var errNotDurable = errors.New("the server does not keep its commits: fsync, synchronous_commit or full_page_writes is not on")

func (s *Server) checkDurable(ctx context.Context) error {
	settings, err := s.settings(ctx, "fsync", "synchronous_commit", "full_page_writes")
	if err != nil {
		return err
	}
	for _, value := range settings {
		if value != "on" {
			return errNotDurable
		}
	}
	return nil
}

// Describe tells the settings that decide over figures, by name.
func (s *Server) Describe(ctx context.Context) (map[string]string, error) {
	return s.settings(ctx, shown...)
}

func (s *Server) settings(ctx context.Context, names ...string) (map[string]string, error) {
	found := map[string]string{}
	err := s.maintain(ctx, func(conn *pgx.Conn) error {
		for _, name := range names {
			var value string
			if err := conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
				return err
			}
			found[name] = value
		}
		return nil
	})
	return found, err
}

// do runs one statement in the maintenance database.
func (s *Server) do(ctx context.Context, sql string) error {
	return s.maintain(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (s *Server) maintain(ctx context.Context, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.pg.URL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return work(conn)
}

// hasStatements looks for the library of pg_stat_statements, without which the server would not start.
func hasStatements(ctx context.Context, bin string) bool {
	places := []string{filepath.Join(bin, "../lib"), filepath.Join(bin, "../lib/postgresql")}
	if out, err := exec.CommandContext(ctx, filepath.Join(bin, "pg_config"), "--pkglibdir").Output(); err == nil {
		places = append(places, strings.TrimSpace(string(out)))
	}
	for _, dir := range places {
		for _, suffix := range []string{".so", ".dylib"} {
			if _, err := os.Stat(filepath.Join(dir, "pg_stat_statements"+suffix)); err == nil {
				return true
			}
		}
	}
	return false
}

// trackStatements switches the counting of statements, which costs a little and so is off but where it is read.
func (s *Server) trackStatements(ctx context.Context, on bool) error {
	if !s.tracks || s.keeps {
		return nil
	}
	track := "none"
	if on {
		track = "top"
	}
	return s.maintain(ctx, func(conn *pgx.Conn) error {
		for _, sql := range []string{
			"CREATE EXTENSION IF NOT EXISTS pg_stat_statements",
			fmt.Sprintf("ALTER SYSTEM SET pg_stat_statements.track = %s", track),
			"SELECT pg_reload_conf()",
		} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("pg_stat_statements: %w", err)
			}
		}
		return nil
	})
}
