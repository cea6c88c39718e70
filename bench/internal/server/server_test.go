package server_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// schema stands for the migrations.
func schema(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `CREATE TABLE things (id int PRIMARY KEY, note text) WITH (fillfactor = 50)`)
	return err
}

// TestServerCounts does known work and looks what is counted.
func TestServerCounts(t *testing.T) {
	t.Parallel()
	s, err := server.Start(t.Context(), schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Dir()); err == nil {
			t.Error("the folder is left")
		}
	})
	if got, err := s.Describe(t.Context()); err != nil || got["fsync"] != "on" || got["synchronous_commit"] != "on" || got["max_wal_size"] != "8GB" {
		t.Errorf("settings %v: %v", got, err)
	}
	d, err := s.Migrated(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), d.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	checkWritten(t, s, conn)
	checkStatements(t, d, conn)
	checkCPU(t, s, conn)
	if err := s.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

func do(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func checkWritten(t *testing.T, s *server.Server, conn *pgx.Conn) {
	t.Helper()
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, err := s.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	do(t, conn, `INSERT INTO things SELECT i, 'new' FROM generate_series(1, 30) i`, `UPDATE things SET note = 'other' WHERE id <= 20`,
		`UPDATE things SET id = -id WHERE id = 1`, `DELETE FROM things WHERE id > 25`)
	to, err := s.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	size, err := s.BytesBetween(t.Context(), from, to)
	if err != nil || size < 30*50 || size > 1e6 {
		t.Errorf("%v bytes: %v", size, err)
	}
	w, err := s.Written(t.Context(), from, to)
	if !s.HasWaldump() {
		t.Logf("nothing to check: %v", err)
		return
	}
	if err != nil || w.Commits != 4 || w.Inserted != 30 || w.Updated != 21 || w.HotUpdated != 20 || w.Deleted != 5 || w.IndexInserts != 31 {
		t.Errorf("got %+v: %v", w, err)
	}
}

func checkStatements(t *testing.T, d *server.Database, conn *pgx.Conn) {
	t.Helper()
	n, exact, err := d.Statements(t.Context(), func() error {
		for range 7 {
			do(t, conn, `SELECT count(*) FROM things`)
		}
		return nil
	})
	if err != nil || exact && n != 7 {
		t.Errorf("%v statements (exact: %t): %v", n, exact, err)
	}
}

// checkCPU has the server work for some time that it must own up to.
func checkCPU(t *testing.T, s *server.Server, conn *pgx.Conn) {
	t.Helper()
	before, err := s.CPU()
	if err != nil {
		t.Fatal(err)
	}
	do(t, conn, `DO $$ DECLARE began timestamptz := clock_timestamp(); n int := 0; BEGIN
		WHILE clock_timestamp() < began + interval '300 ms' LOOP n := n + 1; END LOOP; END $$`)
	after, err := s.CPU()
	if err != nil {
		t.Fatal(err)
	}
	used := after.Sub(before)
	if used.Postgres < 20*time.Millisecond || used.Postgres > 30*time.Second || used.Process <= 0 || used.Total() != used.Postgres+used.Process {
		t.Errorf("used %+v", used)
	}
	if n, err := server.Resident(); err != nil || n < 1<<20 {
		t.Errorf("%d bytes: %v", n, err)
	}
}
