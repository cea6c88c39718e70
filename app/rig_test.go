package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests, on a loaded machine.
const patience = 30 * time.Second

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !yes() {
		select {
		case <-deadline:
			t.Fatalf("not in %s: %s", patience, what)
		case <-tick.C:
		}
	}
}

// reply is an answer of a gateway.
type reply struct {
	status int
	body   map[string]any
}

func (r reply) text(field string) string { s, _ := r.body[field].(string); return s }

// try sends one request over a connection of its own, so that nothing of it outlives a process that was killed.
func try(method, url, body string) (reply, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	return do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}, req)
}

func do(client *http.Client, req *http.Request) (reply, error) {
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{status: res.StatusCode}
	_ = json.Unmarshal(raw, &r.body) // what is no object has no fields
	return r, nil
}

// call is try for requests that must be answered, with this status.
func call(t *testing.T, want int, method, url, body string) reply {
	t.Helper()
	r, err := try(method, url, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	if r.status != want {
		t.Fatalf("%s %s: status %d, want %d: %v", method, url, r.status, want, r.body)
	}
	return r
}

// ready says whether the process behind an admin listener takes requests.
func ready(admin string) func() bool {
	return func() bool {
		r, err := try("GET", admin+"/readyz", "")
		return err == nil && r.status == http.StatusOK
	}
}

// program is a process of the command flowgate.
type program struct {
	cmd   *exec.Cmd
	url   string // of callbacks and API; empty where there is no gateway
	admin string
	ended chan struct{}

	mu  sync.Mutex
	log bytes.Buffer // read after ended, or with the lock
}

// launch starts the command, with listeners on free ports, and returns once it is ready.
func launch(t *testing.T, env map[string]string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=" + os.TempDir()}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	running := make(chan map[string]any, 1)
	go p.watch(stderr, running)
	select {
	case line := <-running:
		if at, ok := line["listen"].(string); ok {
			p.url = "http://" + at
		}
		p.admin = "http://" + line["admin_listen"].(string)
	case <-p.ended:
		t.Fatalf("%v ended early: %s", args, p.logged())
	case <-time.After(patience):
		t.Fatalf("%v is not up: %s", args, p.logged())
	}
	eventually(t, "readiness", ready(p.admin))
	return p
}

// watch keeps what the process logs, finds where it listens, and sees it end.
func (p *program) watch(stderr io.Reader, running chan<- map[string]any) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		p.mu.Lock()
		p.log.Write(lines.Bytes())
		p.log.WriteByte('\n')
		p.mu.Unlock()
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil && line["message"] == "running" {
			running <- line
		}
	}
	_ = p.cmd.Wait() // ProcessState says how
	close(p.ended)
}

func (p *program) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// kill ends the process as a power cut would, and waits for its end.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the process gracefully.
func (p *program) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.wantExit(t, 0)
}

func (p *program) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *program) wantExit(t *testing.T, code int) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the process has not ended: %s", p.logged())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d: %s", got, code, p.logged())
	}
}
