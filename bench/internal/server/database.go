package server

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Database is one database of the server. Databases are never dropped one by one: that would load the disk in the
// middle of the measurements. They go with the server.
type Database struct {
	Server *Server
	URL    string
}

// Migrated makes a fresh copy of the migrated template.
func (s *Server) Migrated(ctx context.Context) (*Database, error) {
	return s.make(ctx, "TEMPLATE "+s.template)
}

// Empty makes a fresh database without tables.
func (s *Server) Empty(ctx context.Context) (*Database, error) { return s.make(ctx, "") }

func (s *Server) make(ctx context.Context, options string) (*Database, error) {
	s.count++
	name := fmt.Sprintf("bench_%d", s.count)
	if err := s.do(ctx, fmt.Sprintf("CREATE DATABASE %s %s", name, options)); err != nil {
		return nil, err
	}
	return &Database{Server: s, URL: s.urlOf(name)}, nil
}

func (s *Server) urlOf(database string) string {
	u, err := url.Parse(s.pg.URL())
	if err != nil {
		panic(err) // pgembed made it from parts
	}
	u.Path = "/" + database
	return u.String()
}

// Pool opens at most size connections. Set are settings of each session, "name=value".
func (d *Database) Pool(ctx context.Context, size int, set map[string]string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(d.URL)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(size) //nolint:gosec // some hundred at most
	for name, value := range set {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return pool, pool.Ping(ctx)
}

// Connect opens one connection that keeps to indexes and compiles nothing, for questions that must not cost the server
// much.
func (d *Database) Connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(d.URL)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["enable_seqscan"], cfg.RuntimeParams["jit"] = "off", "off"
	return pgx.ConnectConfig(ctx, cfg)
}

// Analyze vacuums the database and takes statistics, so that autovacuum does not do it in the middle of a measurement.
func (d *Database) Analyze(ctx context.Context) error {
	conn, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
