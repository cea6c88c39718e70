package pgtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// Pause freezes a Dedicated server: its connections stay open, and neither answers nor fails. The returned function
// lets it run on; calling it again does nothing, and the test's end calls it.
func Pause(t testing.TB, s *pgembed.Server) (resume func()) {
	t.Helper()
	postmaster, err := postmasterPID(s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	frozen := []int{postmaster}
	resume = sync.OnceFunc(func() {
		for _, pid := range frozen {
			_ = syscall.Kill(pid, syscall.SIGCONT) // one that has ended needs none
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		_ = conn.Close(ctx)
	})
	t.Cleanup(resume)
	if err := syscall.Kill(postmaster, syscall.SIGSTOP); err != nil { // first, so that no new backend appears
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "select pid from pg_stat_activity")
	if err != nil {
		t.Fatal(err)
	}
	backends, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	frozen = append(frozen, backends...)
	for _, pid := range backends {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	return resume
}

func postmasterPID(s *pgembed.Server) (int, error) {
	b, err := os.ReadFile(filepath.Join(s.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return strconv.Atoi(string(line))
}
