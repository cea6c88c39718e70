//go:build linux || darwin

package pgembed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// Names of the environment variables that turn this test binary into a process that starts one server.
const (
	childDir     = "PGEMBED_TEST_DIR"
	childGuarded = "PGEMBED_TEST_GUARDED"
)

// patience bounds every wait of these tests; only a failing test uses it up.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(Config{Dir: dir, guarded: os.Getenv(childGuarded) != ""}))
	}
	dir, err := os.MkdirTemp(memory(), "fge-model-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	modelDir = filepath.Join(dir, "m")
	code := m.Run()
	if err := errors.Join(goleak.Find(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var modelDir string

// model is a data directory that initdb made once, for the tests that are not about initdb.
var model = sync.OnceValues(func() (string, error) {
	s, err := Start(context.Background(), Config{Dir: modelDir})
	if err != nil {
		return "", err
	}
	return s.folder.data(), s.Stop()
})

// child starts a server, says whether it started or attached, and stops when its input ends.
func child(cfg Config) int {
	s, err := Start(context.Background(), cfg)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	if s.Attached() {
		fmt.Println("attached")
	} else {
		fmt.Println("started")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// starter is a child process of this test binary.
type starter struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func spawn(t *testing.T, dir string, env ...string) *starter {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childDir+"="+dir)...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &starter{cmd: cmd, stdin: stdin, out: bufio.NewReader(out)}
}

// says is the first line the child prints.
func (s *starter) says(t *testing.T) string {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child said %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

// memory is a folder in memory where there is room, as in pgtest: a disk makes most of these tests wait for files.
func memory() string {
	if dir := os.Getenv("PGTEST_DIR"); dir != "" {
		return dir
	}
	var st syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &st) == nil && uint64(st.Bavail)*uint64(st.Bsize) > 2<<30 {
		return "/dev/shm"
	}
	return os.TempDir()
}

// newDir is a folder with a short path that the account of the server can enter; t.TempDir is closed to it.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "fge-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	if cfg.Template == "" {
		template, err := model()
		if err != nil {
			t.Fatal(err)
		}
		cfg.Template = template
	}
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// query runs SQL and returns the first column of the first row as text.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	text := ""
	for rows.Next() {
		text = string(rows.RawValues()[0])
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text
}

// gone waits until no process of the folder's server is left.
func gone(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lock, err := lockFile(ctx, folder(dir).lock())
	if err != nil {
		t.Fatalf("the server of %s lives on: %v", dir, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}
