package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// LSN is a position in the write-ahead log, as PostgreSQL writes it.
type LSN string

// Position is the end of what is written of the write-ahead log.
func (s *Server) Position(ctx context.Context) (at LSN, err error) {
	err = s.maintain(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&at)
	})
	return at, err
}

// BytesBetween is how much was written between two positions.
func (s *Server) BytesBetween(ctx context.Context, from, to LSN) (n float64, err error) {
	err = s.maintain(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_wal_lsn_diff($1::text::pg_lsn, $2::text::pg_lsn)::float8", to, from).Scan(&n)
	})
	return n, err
}

// Written is what the write-ahead log holds between two positions.
type Written struct {
	Commits, Inserted, Updated, Deleted float64 // records of rows: one each
	HotUpdated                          float64 // of Updated: those that needed no index entry
	IndexInserts                        float64 // entries of B-trees
	RowLocks                            float64
	FullPageBytes                       float64 // images of pages that were first written after a checkpoint
}

// ErrNoWaldump: the installation has no pg_waldump, so records cannot be told apart.
var ErrNoWaldump = errors.New("no pg_waldump")

// Written counts the records between two positions, those of every database. It is to be asked before the next
// checkpoint removes them. Error: ErrNoWaldump.
func (s *Server) Written(ctx context.Context, from, to LSN) (Written, error) {
	dump := filepath.Join(s.bin, "pg_waldump")
	if _, err := os.Stat(dump); err != nil {
		return Written{}, ErrNoWaldump
	}
	cmd := exec.CommandContext(ctx, dump, "--path", filepath.Join(s.pg.Dir(), "data", "pg_wal"), //nolint:gosec // of this server
		"--start", string(from), "--end", string(to), "--stats=record")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return Written{}, fmt.Errorf("pg_waldump: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return parseWritten(out)
}

// parseWritten reads a table whose lines are: type of record, count, (%), bytes, (%), bytes of page images, ….
func parseWritten(table []byte) (w Written, err error) {
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		kind, rest, ok := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		fields := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(rest))
		if !ok || !strings.Contains(kind, "/") || len(fields) < 5 {
			continue
		}
		var count, images float64
		// A record of a page's first item is called XLOG/INSERT+INIT and may stand apart: the count is the first number.
		if count, err = strconv.ParseFloat(fields[0], 64); err != nil {
			return w, fmt.Errorf("pg_waldump: %q", lines.Text())
		}
		if images, err = strconv.ParseFloat(fields[4], 64); err != nil {
			return w, fmt.Errorf("pg_waldump: %q", lines.Text())
		}
		w.FullPageBytes += images
		w.add(strings.TrimSuffix(kind, "+INIT"), count)
	}
	return w, lines.Err()
}

func (w *Written) add(kind string, count float64) {
	switch kind {
	case "Transaction/COMMIT":
		w.Commits += count
	case "Heap/INSERT":
		w.Inserted += count
	case "Heap/UPDATE":
		w.Updated += count
	case "Heap/HOT_UPDATE":
		w.Updated += count
		w.HotUpdated += count
	case "Heap/DELETE":
		w.Deleted += count
	case "Heap/LOCK":
		w.RowLocks += count
	case "Btree/INSERT_LEAF", "Btree/INSERT_POST":
		w.IndexInserts += count
	case "Btree/SPLIT_L", "Btree/SPLIT_R": // each takes one entry in as well
		w.IndexInserts += count
	}
}

// HasWaldump says whether Written can work.
func (s *Server) HasWaldump() bool {
	_, err := os.Stat(filepath.Join(s.bin, "pg_waldump"))
	return err == nil
}
