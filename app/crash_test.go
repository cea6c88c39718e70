package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

const collector = `{"workflow":"collect","run_id":"c1","input":{"count":10000,"continue_every":50}}`

func signalPath(run, id string) string {
	return "/v1/runs/" + run + "/signals/item?idempotency_key=" + id
}

// wantDurable checks that an acknowledged signal is there, and that repeating it says so.
func wantDurable(t *testing.T, url, run, id, payload string) {
	t.Helper()
	call(t, http.StatusOK, "GET", url+"/v1/runs/"+run+"/signals/"+id, "")
	if r := call(t, http.StatusAccepted, "POST", url+signalPath(run, id), payload); r.text("verdict") != "duplicate" {
		t.Errorf("signal %s again: %v, want a duplicate", id, r.body)
	}
}

// Signals are under way, held up by a lock on their run, when the process is told to stop: it finishes them first.
// What it acknowledges is durable, and it ends in time.
func TestTermFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	env := deployment(url)
	launch(t, env, "worker", "--examples").stop(t) // stores the specs; no turn takes the lock below
	gate := launch(t, env, "serve", "--open-api")
	call(t, http.StatusCreated, "POST", gate.url+"/v1/runs", collector)

	held := holdRun(t, url, "c1")
	const senders = 20
	var sent atomic.Int32
	var all sync.WaitGroup
	replies := make([]reply, senders)
	failed := make([]error, senders)
	for i := range senders {
		all.Go(func() { replies[i], failed[i] = sendWatched(t.Context(), gate.url, fmt.Sprintf("s%d", i), &sent) })
	}
	eventually(t, "signals that wait", func() bool { return sent.Load() == senders && held.waitedFor() })
	gate.signal(t, syscall.SIGTERM)
	eventually(t, "the drain", func() bool { return draining(gate) })
	held.release(t)
	all.Wait()
	gate.wantExit(t, 0)

	next := launch(t, env, "serve", "--open-api")
	acknowledged := 0
	for i, r := range replies {
		switch {
		case failed[i] != nil: // refused, or cut off before it was taken: its fate is not known to the sender
		case r.status == http.StatusAccepted:
			acknowledged++
			wantDurable(t, next.url, "c1", fmt.Sprintf("s%d", i), fmt.Sprint(i))
		default: // the engine works on until the gateway is drained
			t.Errorf("signal %d: status %d, want 202: %v", i, r.status, r.body)
		}
	}
	if acknowledged == 0 {
		t.Errorf("no signal that was under way was answered: %v", failed)
	}
	t.Logf("%d of %d acknowledged", acknowledged, senders)
}

// sendWatched sends a signal over a connection that the gateway has served before, and counts when it is written.
func sendWatched(ctx context.Context, url, id string, sent *atomic.Int32) (reply, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	first, err := http.NewRequestWithContext(ctx, "GET", url+"/v1/runs/c1", nil)
	if err != nil {
		return reply{}, err
	}
	if _, err := do(client, first); err != nil {
		return reply{}, err
	}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { sent.Add(1) },
	})
	req, err := http.NewRequestWithContext(traced, "POST", url+signalPath("c1", id), strings.NewReader(id[1:]))
	if err != nil {
		return reply{}, err
	}
	return do(client, req)
}

// ledger is what a crash must not take back.
type ledger struct {
	mu    sync.Mutex
	runs  []string
	items []string          // signals of the run c1
	hooks map[string]string // run to link path
	count atomic.Int64
}

func (l *ledger) note(where *[]string, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*where = append(*where, what)
	l.count.Add(1)
}

func TestC52_KillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	kills := 20
	if testing.Short() {
		kills = 3
	}
	killAgainAndAgain(t, kills)
}

// killAgainAndAgain kills processes while clients call them. Nothing that was acknowledged is lost, and what was accepted
// before a crash is moved on after it.
func killAgainAndAgain(t *testing.T, kills int) {
	t.Helper()
	env := deployment(pgtest.URL(t))
	var target atomic.Pointer[string]
	l := &ledger{hooks: map[string]string{}}
	p := launch(t, env, "serve", "--open-api", "--examples")
	target.Store(&p.url)
	call(t, http.StatusCreated, "POST", p.url+"/v1/runs", collector)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var senders sync.WaitGroup
	for s := range 6 {
		senders.Go(func() { l.send(ctx, &target, s) })
	}
	for range kills {
		before := l.count.Load()
		eventually(t, "some acknowledgements", func() bool { return l.count.Load() >= before+20 })
		p.kill()
		p = launch(t, env, "serve", "--open-api", "--examples")
		target.Store(&p.url)
	}
	stop()
	senders.Wait()
	l.wantKept(t, p.url)
	p.stop(t)
}

// send starts runs, sends signals and answers hooks, and notes what was acknowledged, until ctx ends.
func (l *ledger) send(ctx context.Context, target *atomic.Pointer[string], sender int) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		<-pause.C
		id, url := fmt.Sprintf("x%d-%d", sender, n), *target.Load()
		if sender%3 > 0 {
			if r, err := try("POST", url+signalPath("c1", id), `"`+id+`"`); err == nil && r.status == http.StatusAccepted {
				l.note(&l.items, id)
			}
			continue
		}
		r, err := try("POST", url+"/v1/runs", `{"workflow":"approval.hook","run_id":"`+id+`","input":{"subject":"x"}}`)
		if err != nil || r.status != http.StatusCreated {
			continue
		}
		l.note(&l.runs, id)
		l.answer(url, id)
	}
}

// answer answers the hook of a run once it is open, and notes the link when that was acknowledged.
func (l *ledger) answer(url, run string) {
	for range 50 {
		r, err := try("POST", url+"/v1/runs/"+run+"/hooks/approval/token", "")
		if err != nil {
			return
		}
		if r.status != http.StatusOK {
			continue
		}
		path := "/callbacks/flow/hooks/" + r.text("token")
		if r, err := try("POST", url+path, `{"approved":true}`); err == nil && r.status == http.StatusAccepted {
			l.mu.Lock()
			l.hooks[run] = path
			l.mu.Unlock()
			l.count.Add(1)
		}
		return
	}
}

func (l *ledger) wantKept(t *testing.T, url string) {
	t.Helper()
	if len(l.runs) == 0 || len(l.items) == 0 || len(l.hooks) == 0 {
		t.Fatalf("%d runs, %d signals, %d answers acknowledged: the test did not test", len(l.runs), len(l.items), len(l.hooks))
	}
	t.Logf("%d runs, %d signals, %d answers acknowledged", len(l.runs), len(l.items), len(l.hooks))
	for _, id := range l.items {
		wantDurable(t, url, "c1", id, `"`+id+`"`)
	}
	for _, run := range l.runs {
		call(t, http.StatusOK, "GET", url+"/v1/runs/"+run, "")
	}
	for run, path := range l.hooks {
		if r := call(t, http.StatusAccepted, "POST", url+path, `{"approved":true}`); r.text("verdict") != "duplicate" {
			t.Errorf("answer of %s again: %v, want a duplicate", run, r.body)
		}
		call(t, http.StatusConflict, "POST", url+path, `{"approved":false}`)
		if r := call(t, http.StatusOK, "GET", url+"/v1/runs/"+run+"?wait=20s", ""); r.text("status") != "completed" {
			t.Errorf("run %s: %v, want it completed", run, r.body)
		}
	}
	eventually(t, "every signal is consumed", func() bool {
		r := call(t, http.StatusOK, "GET", url+"/v1/runs/c1", "")
		unread, ok := r.body["unread_signals"].(float64)
		return ok && unread == 0
	})
}
