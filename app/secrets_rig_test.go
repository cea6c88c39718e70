package app_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/tokens"
)

// vault is a deployment whose secrets are known to the test, and all that was seen of it.
type vault struct {
	t      *testing.T
	env    map[string]string
	server *pgembed.Server
	conn   *pgx.Conn
	ring   *tokens.Keyring
	search *search
	gate   *leaky   // serves the API to everybody, and has code
	closed *leaky   // serves callbacks only, and has code too
	echo   *echo    // what http.post posts to
	sent   []string // secrets that it gets

	mu     sync.Mutex
	stores map[string]*store
}

// store is one place that is searched.
type store struct {
	text []byte
	may  []class // what may be in it
}

// leaky is a process of the command, with everything it says.
type leaky struct {
	*program
	stdout *lockedBuffer
}

func openVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{t: t, search: newSearch(), stores: map[string]*store{}, server: pgtest.Dedicated(t, db.Migrate)}
	v.connect()
	for _, setting := range []string{
		"log_statement = 'all'", "log_parameter_max_length = -1", "log_parameter_max_length_on_error = -1",
		"log_min_error_statement = 'debug1'", "log_connections = 'on'", "fsync = 'off'",
	} {
		v.sql("alter system set " + setting)
	}
	v.sql("select pg_reload_conf()")
	v.env = deployment(v.server.URL())
	v.env["FLOWGATE_LOG_LEVEL"] = "debug"
	v.env["FLOWGATE_LIMIT_FAILURES"] = "off" // most of what is sent here is refused, all from one address
	v.env[asLeaky] = "1"
	keys := map[string][]tokens.Key{}
	for _, set := range []string{"FLOWGATE_MINT_KEYS", "FLOWGATE_DIGEST_KEYS", "FLOWGATE_SIGN_KEYS"} {
		secret := mark(base62, 32)
		keys[set] = []tokens.Key{{ID: "k1", Secret: []byte(secret)}}
		v.env[set] = "k1:" + base64.StdEncoding.EncodeToString([]byte(secret))
		v.search.add(bearer, secret)
		v.search.add(bearer, base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	var err error
	if v.ring, err = tokens.NewKeyring(keys["FLOWGATE_MINT_KEYS"], keys["FLOWGATE_DIGEST_KEYS"]); err != nil {
		t.Fatal(err)
	}
	v.configurePosts()
	v.gate = v.launch("serve", "--open-api")
	v.closed = v.launch("serve")
	return v
}

// connect makes the test's own connection to the database.
func (v *vault) connect() {
	v.t.Helper()
	var err error
	if v.conn, err = pgx.Connect(v.t.Context(), v.server.URL()); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = v.conn.Close(v.t.Context()) })
}

func (v *vault) sql(statement string) {
	v.t.Helper()
	if _, err := v.conn.Exec(v.t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vault) launch(args ...string) *leaky {
	v.t.Helper()
	l := &leaky{program: &program{cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}, stdout: &lockedBuffer{}}
	l.cmd.Stdout = l.stdout
	l.cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=" + os.TempDir()}
	for name, value := range v.env {
		l.cmd.Env = append(l.cmd.Env, name+"="+value)
	}
	stderr, err := l.cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(l.kill)
	running := make(chan map[string]any, 1)
	go l.watch(stderr, running)
	select {
	case line := <-running:
		l.url = line["listen"].(string)
		l.admin = "http://" + line["admin_listen"].(string)
	case <-l.ended:
		v.t.Fatalf("%v ended early: %s", args, l.logged())
	case <-time.After(patience):
		v.t.Fatalf("%v is not up: %s", args, l.logged())
	}
	eventually(v.t, "readiness", ready(l.admin))
	return l
}

// keep puts a text into a store.
func (v *vault) keep(name, text string, may ...class) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.stores[name]
	if s == nil {
		s = &store{may: may}
		v.stores[name] = s
	}
	s.text = append(append(s.text, text...), '\n')
}

// talk sends bytes on a connection of its own and returns all that comes back until the other side closes it.
func (v *vault) talk(address, requests string) string {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "" // its process was ended
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	go func() { // while the answers are read
		_, _ = io.WriteString(conn, requests)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	answers, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset by peer") {
		v.t.Errorf("answers: %v", err)
	}
	return string(answers)
}

// walk takes ways one after the other on one connection, and keeps each answer where it belongs.
func (v *vault) walk(address string, u use, ways []way) {
	var taken []way
	var requests strings.Builder
	for _, w := range ways {
		if w.minted && !u.minted || w.every > 0 && u.n%w.every != 0 {
			continue
		}
		taken = append(taken, w)
		requests.WriteString(w.request(u))
	}
	requests.WriteString("GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	answers := strings.Split(v.talk(address, requests.String()), "HTTP/1.1 ")[1:]
	if len(answers) != len(taken)+1 {
		v.t.Errorf("%d answers to %d requests", len(answers), len(taken)+1)
		return
	}
	for i, w := range taken {
		if status := answers[i][:3]; w.want != 0 && u.kind == toAnswer && status != fmt.Sprint(w.want) {
			masked := strings.NewReplacer(u.token, "TOKEN", u.bad, "MARK").Replace(w.request(u))
			v.t.Errorf("status %s, want %d: %.200q", status, w.want, masked)
		}
		switch {
		case w.reads:
			v.keep("answers to who may read the run", answers[i], accepted, authored)
		case w.points:
			v.keep("answers that point to keys", answers[i], named)
		default:
			v.keep("answers", answers[i])
		}
	}
}

// shatter sends what is no request, each on a connection of its own.
func (v *vault) shatter(address string, u use) {
	for _, pattern := range broken {
		request := strings.NewReplacer("<P>", u.path(), "<LONG>", strings.Repeat(u.token, 400)).Replace(pattern)
		v.keep("answers", v.talk(address, fill(request, u)))
	}
}
