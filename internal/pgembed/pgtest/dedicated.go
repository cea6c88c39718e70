package pgtest

import (
	"errors"
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// Dedicated is a server for this test alone, for tests that stop, kill or pause the database. Its maintenance database
// (the server's URL) is migrated by migrate, which may be nil. Unlike the shared one it keeps every acknowledged commit
// over a Kill. It is killed and removed at the test's end, and it is never the one of TEST_DATABASE_URL: on a machine
// without PostgreSQL binaries of its own that leads to a skip.
func Dedicated(t testing.TB, migrate Migrate) *pgembed.Server {
	t.Helper()
	s, err := launch(t.Context(), true)
	var none *pgembed.NoBinariesError
	if errors.As(err, &none) && os.Getenv("TEST_DATABASE_URL") != "" {
		t.Skipf("a test that stops its server needs PostgreSQL binaries beside TEST_DATABASE_URL: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if err := os.RemoveAll(s.Dir()); err != nil {
			t.Error(err)
		}
	})
	if migrate == nil {
		return s
	}
	if err := migrate(t.Context(), s.URL()); err != nil {
		t.Fatalf("pgtest: migrate: %v", err)
	}
	return s
}

// Restart starts a Dedicated server again that was stopped or killed, on its data and under its URL.
func Restart(t testing.TB, s *pgembed.Server) *pgembed.Server {
	t.Helper()
	again, err := pgembed.Start(t.Context(), pgembed.Config{Dir: s.Dir(), Durable: true, Params: []string{connections}})
	if err != nil {
		t.Fatal(err)
	}
	if again.Attached() {
		t.Fatal("pgtest: Restart: the server still runs")
	}
	t.Cleanup(again.Kill)
	return again
}
