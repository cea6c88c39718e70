package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// store is a database that exists for one peer. A nil store is that of a peer that does not use PostgreSQL.
type store struct {
	admin *pgx.Conn // to the database of the command line
	name  string
	pool  *pgxpool.Pool // set by open
	told  int64         // commits made by counting
}

// newStore makes an empty database on the server.
func newStore(ctx context.Context, server *pgx.ConnConfig, peer string) (*store, error) {
	admin, err := pgx.ConnectConfig(ctx, server)
	if err != nil {
		return nil, err
	}
	s := &store{admin: admin, name: fmt.Sprintf("peer_%s_%d", strings.ReplaceAll(peer, "-", "_"), os.Getpid())}
	if _, err := admin.Exec(ctx, "create database "+pgx.Identifier{s.name}.Sanitize()); err != nil {
		_ = admin.Close(ctx)
		return nil, err
	}
	return s, nil
}

// open makes the pool that the peer works with, of at most conns connections. A peer that had others could not be
// counted.
func (s *store) open(ctx context.Context, conns int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(s.admin.Config().ConnString())
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.Database = s.name
	cfg.MaxConns = conns
	s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
	return s.pool, err
}

// drop removes the database, whoever is still connected to it. It does so in a session of its own: one whose query was
// interrupted is closed.
func (s *store) drop(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, s.admin.Config())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "drop database "+pgx.Identifier{s.name}.Sanitize()+" with (force)")
	return errors.Join(err, conn.Close(ctx), s.admin.Close(ctx))
}

// settle waits until the peer has been seen idle in the database five times in a row, 20 ms apart: what it does after it
// has parked or completed the last run belongs to no other figure.
func (s *store) settle(ctx context.Context) error {
	if s == nil {
		return nil
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for idle := 0; idle < 5; {
		var busy bool
		err := s.admin.QueryRow(ctx, `select exists (select from pg_stat_activity
			where datname = $1 and backend_type = 'client backend' and state <> 'idle')`, s.name).Scan(&busy)
		if err != nil {
			return err
		}
		idle++
		if busy {
			idle = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the peer's sessions are not idle: %w", context.Cause(ctx))
		}
	}
	return nil
}

// written is what the server has counted since it began.
type written struct {
	wal     int64 // bytes, of the whole server
	commits int64 // of the peer's database
}

// counted reads the counters. Sessions keep their counts to themselves for up to ten seconds, so each of the pool is told
// to hand them over, which is one commit more in each; those are left out of the difference that two readings make.
func (s *store) counted(ctx context.Context) (w written, err error) {
	if s == nil {
		return w, nil
	}
	if err := s.settle(ctx); err != nil {
		return w, err
	}
	told, err := s.flush(ctx)
	if err != nil {
		return w, err
	}
	err = s.admin.QueryRow(ctx, `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8, xact_commit
		from pg_stat_database where datname = $1`, s.name).Scan(&w.wal, &w.commits)
	s.told += int64(told)
	w.commits -= s.told
	return w, err
}

// tell has a session hand over its counts at once. It reads a table because a session that has touched none since it last
// did hands over nothing, not even its commits.
const tell = "select pg_stat_force_next_flush() from pg_class limit 1"

// flush has every idle session of the pool hand over its counts, and returns how many sessions that are.
func (s *store) flush(ctx context.Context) (int, error) {
	idle := s.pool.AcquireAllIdle(ctx)
	var failed error
	for _, conn := range idle {
		if _, err := conn.Exec(ctx, tell, pgx.QueryExecModeSimpleProtocol); err != nil {
			failed = err
		}
		conn.Release()
	}
	return len(idle), failed
}
