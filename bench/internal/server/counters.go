package server

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Statements counts the statements that the server runs for this database while work is done, transaction control
// included. Exact says whether pg_stat_statements counted them; else they are the transactions of the database's
// sessions, as far as these have told.
func (d *Database) Statements(ctx context.Context, work func() error) (n float64, exact bool, err error) {
	if err := d.Server.trackStatements(ctx, true); err != nil {
		return 0, false, err
	}
	before, err := d.executed(ctx)
	if err != nil {
		return 0, false, err
	}
	if err := work(); err != nil {
		return 0, false, err
	}
	after, err := d.executed(ctx)
	if err != nil {
		return 0, false, err
	}
	return after - before, d.Server.tracks, d.Server.trackStatements(ctx, false)
}

// executed asks in the maintenance database, so that the question is not in the answer.
func (d *Database) executed(ctx context.Context) (n float64, err error) {
	cfg, err := pgx.ParseConfig(d.URL)
	if err != nil {
		return 0, err
	}
	question := `SELECT coalesce(sum(xact_commit + xact_rollback), 0)::float8 FROM pg_stat_database WHERE datname = $1`
	if d.Server.tracks {
		question = `SELECT coalesce(sum(s.calls), 0)::float8 FROM pg_stat_statements s JOIN pg_database b ON b.oid = s.dbid
			WHERE b.datname = $1`
	}
	err = d.Server.maintain(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, question, cfg.Database).Scan(&n)
	})
	return n, err
}

// Rows are the counters of a database. A session tells what it did when it ends, or now and then, so they are exact only
// while nobody is connected.
type Rows struct {
	Commits, Inserted, Updated, HotUpdated, Deleted float64
}

// Sub is what happened between two readings.
func (r Rows) Sub(b Rows) Rows {
	return Rows{
		Commits: r.Commits - b.Commits, Inserted: r.Inserted - b.Inserted, Updated: r.Updated - b.Updated,
		HotUpdated: r.HotUpdated - b.HotUpdated, Deleted: r.Deleted - b.Deleted,
	}
}

// Rows reads the counters of user tables and transactions. Commits include those of reading transactions.
func (d *Database) Rows(ctx context.Context) (r Rows, err error) {
	conn, err := d.Connect(ctx)
	if err != nil {
		return r, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, `SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8,
		coalesce(sum(n_tup_ins), 0)::float8, coalesce(sum(n_tup_upd), 0)::float8, coalesce(sum(n_tup_hot_upd), 0)::float8,
		coalesce(sum(n_tup_del), 0)::float8 FROM pg_stat_user_tables`).Scan(
		&r.Commits, &r.Inserted, &r.Updated, &r.HotUpdated, &r.Deleted)
	return r, err
}
