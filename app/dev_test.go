package app_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// serverDir is a folder for an embedded PostgreSQL: for root it runs under another account, which t.TempDir shuts out.
func serverDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fgapp-")
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

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// dev is a dev mode in this process.
type dev struct {
	url, admin string
	stdout     *lockedBuffer
	stderr     *lockedBuffer
	stop       func() error
	ended      chan struct{}
}

var saysWhere = regexp.MustCompile(`callbacks and API at (\S+), readiness at (\S+)/readyz`)

func startDev(t *testing.T, args ...string) *dev {
	t.Helper()
	ended := make(chan struct{})
	d := &dev{stdout: &lockedBuffer{}, stderr: &lockedBuffer{}, ended: ended}
	ctx, cancel := context.WithCancel(t.Context())
	var failed error
	args = append([]string{"dev", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"}, args...)
	go func() {
		defer close(ended)
		none := func(string) string { return "" }
		failed = app.Run(ctx, args, none, d.stdout, d.stderr, app.Examples(workflows.Each)...)
	}()
	d.stop = sync.OnceValue(func() error { cancel(); <-ended; return failed })
	t.Cleanup(func() { _ = d.stop() })
	eventually(t, "dev mode says where it is", func() bool {
		select {
		case <-ended:
			t.Fatalf("dev ended: %v; %s", failed, d.stderr)
		default:
		}
		where := saysWhere.FindStringSubmatch(d.stdout.String())
		if where != nil {
			d.url, d.admin = where[1], where[2]
		}
		return where != nil
	})
	eventually(t, "readiness", ready(d.admin))
	return d
}

// openLink starts an approval and returns its link.
func openLink(t *testing.T, url, run string) string {
	t.Helper()
	call(t, http.StatusCreated, "POST", url+"/v1/runs",
		`{"workflow":"approval.hook","run_id":"`+run+`","input":{"subject":"A trip"}}`)
	return link(t, url, run)
}

func link(t *testing.T, url, run string) string {
	t.Helper()
	var found string
	eventually(t, "the hook of "+run, func() bool {
		r, err := try("POST", url+"/v1/runs/"+run+"/hooks/approval/token", "")
		if err != nil {
			t.Fatal(err)
		}
		found = r.text("url")
		return r.status == http.StatusOK
	})
	return found
}

// noServer checks that no PostgreSQL runs on a folder any more.
func noServer(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("postmaster.pid is left: %v", err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		if command, err := os.ReadFile(path); err == nil && bytes.Contains(command, []byte(dir)) {
			t.Errorf("a process is left: %s", bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		}
	}
}

// A second start finds the runs of the first, and links that were handed out still work.
func TestDevKeepsRunsAndLinks(t *testing.T) {
	t.Parallel()
	dir := serverDir(t)
	first := startDev(t, "--data-dir", dir)
	answered, open := openLink(t, first.url, "trip-1"), openLink(t, first.url, "trip-2")
	call(t, http.StatusAccepted, "POST", answered, `{"approved":true,"reviewer":"ada"}`)
	if r := call(t, http.StatusOK, "GET", first.url+"/v1/runs/trip-1?wait=20s", ""); r.text("status") != "completed" {
		t.Fatalf("run %v, want it completed", r.body)
	}
	if !strings.Contains(first.stderr.String(), "THE API UNDER /v1 IS OPEN") {
		t.Error("the log does not say that the API is open")
	}
	if err := first.stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	noServer(t, dir)

	second := startDev(t, "--data-dir", dir)
	move := func(link string) string { return strings.Replace(link, first.url, second.url, 1) }
	if again := link(t, second.url, "trip-2"); again != move(open) {
		t.Error("the link of an open hook is another one after a restart")
	}
	call(t, http.StatusAccepted, "POST", move(answered), `{"reviewer":"ada","approved":true}`)
	call(t, http.StatusConflict, "POST", move(answered), `{"approved":false}`)
	call(t, http.StatusAccepted, "POST", move(open), `{"approved":false}`)
	if r := call(t, http.StatusOK, "GET", second.url+"/v1/runs/trip-2?wait=20s", ""); r.text("status") != "completed" {
		t.Errorf("run %v, want it completed", r.body)
	}
	if err := second.stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	noServer(t, dir)
	for _, log := range []string{first.stderr.String(), second.stderr.String(), first.stdout.String()} {
		if strings.Contains(log, "fhk_") {
			t.Error("a token was printed")
		}
	}
}

// With a database of somebody else's only the keys are dev mode's own.
func TestDevOnAnotherDatabase(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), pgtest.URL(t)
	first := startDev(t, "--data-dir", dir, "--database-url", url)
	open := openLink(t, first.url, "trip-1")
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := startDev(t, "--data-dir", dir, "--database-url", url)
	if again := link(t, second.url, "trip-1"); again != strings.Replace(open, first.url, second.url, 1) {
		t.Error("the link is another one after a restart")
	}
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "keys.env" {
		t.Errorf("%v, %v in the folder, want the keys", left, err)
	}
	// Without the keys the links in the database would be unknown.
	_, _, err = runWith(t, nil, "dev", "--data-dir", t.TempDir(), "--database-url", url,
		"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
	if err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("error %v, want the want of the keys", err)
	}
}

// A page of a stranger whose name resolves to this machine must not reach the open API.
func TestDevRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--data-dir", serverDir(t))
	for host, want := range map[string]int{"": http.StatusOK, "localhost:1": http.StatusOK, "evil.example.com": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", d.url+"/v1/workflows", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		r, err := do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, req)
		if err != nil || r.status != want {
			t.Errorf("Host %q: status %d, %v, want %d", host, r.status, err, want)
		}
	}
	call(t, http.StatusNotFound, "GET", d.url+"/metrics", "")
	call(t, http.StatusNotFound, "GET", d.url+"/readyz", "")
}

// What one part cannot have ends the whole, and leaves nothing behind.
func TestDevEndsWhereThePortIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := serverDir(t)
	_, _, err = runWith(t, nil, "dev", "--data-dir", dir, "--listen", taken.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "FLOWGATE_LISTEN") || app.ExitCode(err) != 1 {
		t.Errorf("error %v, want the one of the port", err)
	}
	noServer(t, dir)
}

// A throw-away instance goes with its data.
func TestLocalLeavesNothing(t *testing.T) {
	t.Parallel()
	i, err := app.Start(t.Context(), app.Local{Registrations: app.Examples(workflows.Each)})
	if err != nil {
		t.Fatal(err)
	}
	dir := i.Dir()
	call(t, http.StatusOK, "GET", i.URL()+"/v1/workflows", "")
	if i.AdminURL() != "" {
		t.Errorf("admin listener %s, want none", i.AdminURL())
	}
	if err := i.Engine().Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-i.Done():
	default:
		t.Error("the instance is closed and not done")
	}
	noServer(t, dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// Dev mode does not go on without its database, and does not bring it back by itself.
func TestDevEndsWithItsDatabase(t *testing.T) {
	t.Parallel()
	dir := serverDir(t)
	d := startDev(t, "--data-dir", dir)
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Fatal("dev goes on without its database")
	}
	if err := d.stop(); err == nil || !strings.Contains(err.Error(), "PostgreSQL ended") || app.ExitCode(err) != 1 {
		t.Errorf("error %v, want the end of PostgreSQL", err)
	}
}
