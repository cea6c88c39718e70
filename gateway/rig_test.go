package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/tokens"
)

// testKeys are the same in every engine of a test, as two processes on one database have the same.
func testKeys(t *testing.T) *tokens.Keyring {
	t.Helper()
	keys, err := tokens.NewKeyring(
		[]tokens.Key{{ID: "m1", Secret: bytes.Repeat([]byte("m"), 32)}},
		[]tokens.Key{{ID: "d1", Secret: bytes.Repeat([]byte("d"), 32)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// newEngine runs an engine with the door on a database of its own.
func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	return engineOn(t, pgtest.URL(t), nil)
}

// engineOn runs an engine with the door on a database.
func engineOn(t *testing.T, url string, change func(*engine.Config)) *engine.Engine {
	t.Helper()
	eng := bareEngine(t, url, change)
	if err := eng.Register(doorSpec, door, doorCode...); err != nil {
		t.Fatal(err)
	}
	run(t, eng)
	return eng
}

// bareEngine is an engine without code, which does not run.
func bareEngine(t *testing.T, url string, change func(*engine.Config)) *engine.Engine {
	t.Helper()
	settings, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	settings.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	cfg := engine.Config{Pool: pool, Keys: testKeys(t), PublicURL: publicURL}
	if change != nil {
		change(&cfg)
	}
	eng, err := engine.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

// run has the engine work until the test ends, and returns once it takes messages.
func run(t *testing.T, eng *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- eng.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	elsewhere, err := eng.Namespace("rig") // what is asked of it is in no trail that tests look at
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the engine takes messages", func() bool {
		return !errors.Is(elsewhere.Retry(t.Context(), "nobody"), engine.ErrUnavailable)
	})
}

// await asks until the answer is yes.
func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never: %s", what)
		}
	}
}

// newSite serves a fresh engine.
func newSite(t *testing.T) *site {
	t.Helper()
	return serveOn(t, newEngine(t), nil)
}

// start opens a door under a run ID.
func (s *site) start(id string, in doorInput) reply {
	s.t.Helper()
	input, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.door","run_id":%q,"input":%s}`, id, input))
	if r.status != http.StatusCreated {
		s.t.Fatalf("start: got %d %s", r.status, r.raw)
	}
	return r
}

// open starts a door with a hook and returns the hook's token, once a turn created it.
func (s *site) open(id string, in doorInput) string {
	s.t.Helper()
	s.start(id, in)
	var minted reply
	await(s.t, "the hook is there", func() bool {
		minted = s.call("POST", "/v1/runs/"+id+"/hooks/h/token", "")
		return minted.status != http.StatusNotFound
	})
	if in.Token != "" {
		return in.Token
	}
	if minted.status != http.StatusOK {
		s.t.Fatalf("token: got %d %s", minted.status, minted.raw)
	}
	return minted.text("token")
}

// answer sends a callback.
func (s *site) answer(token, payload string) reply {
	s.t.Helper()
	return s.call("POST", "/callbacks/flow/hooks/"+token, payload)
}

// signal sends a signal under a key.
func (s *site) signal(run, name, key, payload string) reply {
	s.t.Helper()
	return s.call("POST", "/v1/runs/"+run+"/signals/"+name, payload, "Idempotency-Key", key)
}

// ends sends the door's "end" and waits for what it leads to.
func (s *site) ends(run, how string, status engine.Status) {
	s.t.Helper()
	checkAccepted(s.t, s.signal(run, "end", "end-"+how, fmt.Sprintf("%q", how)))
	s.awaitStatus(run, status)
}

func (s *site) awaitStatus(run string, status engine.Status) {
	s.t.Helper()
	await(s.t, "the run is "+string(status), func() bool {
		return s.call("GET", "/v1/runs/"+run, "").text("status") == string(status)
	})
}

func (s *site) hookState(run string) string {
	s.t.Helper()
	return s.call("GET", "/v1/runs/"+run+"/hooks/h", "").text("state")
}

// checkAccepted checks a first receipt.
func checkAccepted(t *testing.T, r reply) {
	t.Helper()
	checkMessage(t, r, http.StatusAccepted, "accepted", "accepted")
	if r.header.Get("Idempotent-Replayed") != "" {
		t.Error("a first receipt says that it is a repeat")
	}
}

// checkDuplicate checks a repeated receipt, which must be that of the first reply.
func checkDuplicate(t *testing.T, r, first reply) {
	t.Helper()
	checkMessage(t, r, http.StatusAccepted, "duplicate", "duplicate")
	if r.header.Get("Idempotent-Replayed") != "true" {
		t.Error("Idempotent-Replayed is missing")
	}
	if got, want := fmt.Sprint(r.field("receipt")), fmt.Sprint(first.field("receipt")); got != want {
		t.Errorf("another receipt: got %s, want %s", got, want)
	}
}

func checkMessage(t *testing.T, r reply, status int, outcome, verdict string) {
	t.Helper()
	if r.status != status || r.text("outcome") != outcome || r.text("verdict") != verdict {
		t.Fatalf("got %d %s, want %d %s %s", r.status, r.raw, status, outcome, verdict)
	}
	checkHeaders(t, r)
	if r.text("request_id") != r.header.Get("X-Request-Id") {
		t.Error("request_id is not the X-Request-Id")
	}
	if r.field("receipt/sequence") == nil || r.text("receipt/received_at") == "" {
		t.Errorf("the receipt is incomplete: %s", r.raw)
	}
}

// checkDiffers checks a conflict and the fields it names.
func checkDiffers(t *testing.T, r reply, code string, differs ...any) {
	t.Helper()
	checkProblem(t, r, http.StatusConflict, code)
	if got, want := fmt.Sprint(r.field("differs")), fmt.Sprintf("%v", differs); got != want {
		t.Errorf("differs: got %s, want %s", got, want)
	}
	if retryable, _ := r.field("retryable").(bool); retryable {
		t.Error("a conflict is permanent")
	}
}

// checkClosed checks the refusal of a closed hook.
func checkClosed(t *testing.T, r reply, cause string) {
	t.Helper()
	checkProblem(t, r, http.StatusGone, "hook-closed")
	if got := r.text("cause"); got != cause {
		t.Errorf("cause: got %q, want %q", got, cause)
	}
}
