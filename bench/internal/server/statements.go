package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
)

// ErrNoStatements: the installation has no pg_stat_statements.
var ErrNoStatements = errors.New("no pg_stat_statements")

// KeepStatements counts every statement from now on, for WriteStatements. Figures are then a few per cent worse. Error:
// ErrNoStatements.
func (s *Server) KeepStatements(ctx context.Context) error {
	if !s.tracks {
		return ErrNoStatements
	}
	if err := s.trackStatements(ctx, true); err != nil {
		return err
	}
	s.keeps = true
	return nil
}

// WriteStatements tells the statements that took the server most of its time, and forgets them.
func (s *Server) WriteStatements(ctx context.Context, w io.Writer, most int) error {
	return s.maintain(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT total_exec_time, calls, mean_exec_time * 1000, rows::float8 / calls,
			(shared_blks_hit + shared_blks_read)::float8 / calls, wal_bytes::float8 / calls, query
			FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT $1`, most)
		if err != nil {
			return err
		}
		defer rows.Close()
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "total ms\tcalls\tmean us\trows\tpages\tWAL bytes\t statement")
		for rows.Next() {
			var total, mean, n, pages, wal float64
			var calls int64
			var query string
			if err := rows.Scan(&total, &calls, &mean, &n, &pages, &wal, &query); err != nil {
				return err
			}
			text := strings.Join(strings.Fields(query), " ")
			fmt.Fprintf(t, "%.1f\t%d\t%.0f\t%.1f\t%.1f\t%.0f\t %s\n", total, calls, mean, n, pages, wal, text[:min(len(text), 160)])
		}
		if err := errors.Join(rows.Err(), t.Flush()); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "SELECT pg_stat_statements_reset()")
		return err
	})
}
