package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// 9: a sender that pipelines its retries gets one receipt, in order, on one connection.
func TestRace_9_pipelined_equal_callbacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	const n = 200
	conn := s.dial()
	go func() {
		_, _ = io.WriteString(conn, strings.Repeat(post("/callbacks/flow/hooks/"+token, "Content-Length: 1", "", "1"), n))
	}()
	in := bufio.NewReader(conn)
	verdicts := map[string]int{}
	for range n {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := readReply(res)
		if err != nil {
			t.Fatal(err)
		}
		verdicts[r.text("verdict")]++
	}
	if verdicts["accepted"] != 1 || verdicts["duplicate"] != n-1 {
		t.Errorf("got %v", verdicts)
	}
}

// parallel sends n requests at once and counts the replies by status and verdict.
func parallel(t *testing.T, n int, send func(i int) (reply, error)) map[string]int {
	t.Helper()
	var (
		mu     sync.Mutex
		counts = map[string]int{}
		group  sync.WaitGroup
		gate   = make(chan struct{})
	)
	for i := range n {
		group.Go(func() {
			<-gate
			r, err := send(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("send: %v", err)
				return
			}
			counts[fmt.Sprintf("%d %s", r.status, r.text("verdict"))]++
		})
	}
	close(gate)
	group.Wait()
	return counts
}

// C30: simultaneous hits on one URL go on once.
func TestC30_parallel_equal_callbacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	got := parallel(t, 50, func(int) (reply, error) { return s.try("POST", "/callbacks/flow/hooks/"+token, `{"a":1}`) })
	if got["202 accepted"] != 1 || got["202 duplicate"] != 49 {
		t.Errorf("got %v", got)
	}
	s.awaitStatus("r", engine.StatusCompleted)
	if n := strings.Count(s.call("GET", "/v1/runs/r/history", "").raw, `"hook.resumed"`); n != 1 {
		t.Errorf("the hook was resumed %d times", n)
	}
}

// 26, 27: two processes on one database have one truth.
func TestRace_26_27_two_gateways(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	sites := []*site{serveOn(t, engineOn(t, url, nil), nil), serveOn(t, engineOn(t, url, nil), nil)}
	equal := sites[0].open("equal", doorInput{Hook: "ask", Stay: true})
	got := parallel(t, 50, func(i int) (reply, error) {
		return sites[i%2].try("POST", "/callbacks/flow/hooks/"+equal, `{"a":1}`)
	})
	if got["202 accepted"] != 1 || got["202 duplicate"] != 49 {
		t.Errorf("equal: got %v", got)
	}

	rivals := sites[1].open("rivals", doorInput{Hook: "ask", Stay: true})
	got = parallel(t, 50, func(i int) (reply, error) {
		return sites[i/2%2].try("POST", "/callbacks/flow/hooks/"+rivals, fmt.Sprint(i%2))
	})
	if got["202 accepted"] != 1 || got["202 duplicate"] != 24 || got["409 conflict"] != 25 {
		t.Errorf("rivals: got %v", got)
	}

	got = parallel(t, 50, func(i int) (reply, error) {
		return sites[i/2%2].try("POST", "/v1/runs/rivals/signals/any%2Fthing", fmt.Sprint(i%2), "Idempotency-Key", "one")
	})
	if got["202 accepted"] != 1 || got["202 duplicate"] != 24 || got["409 conflict"] != 25 {
		t.Errorf("signals: got %v", got)
	}

	got = parallel(t, 50, func(i int) (reply, error) {
		return sites[i/2%2].try("POST", "/v1/runs", `{"workflow":"test.door","run_id":"started","input":{}}`)
	})
	if got["201 accepted"] != 1 || got["200 duplicate"] != 49 {
		t.Errorf("starts: got %v", got)
	}
}

// 29: of an answer and what closes the hook in the same instant exactly one wins, and the loser is told so.
func TestRace_29_an_answer_against_what_closes_the_hook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for round := range 8 {
		for name, closing := range map[string]struct{ method, path string }{
			"dispose": {"POST", "/v1/runs/%s/hooks/h/dispose"},
			"cancel":  {"POST", "/v1/runs/%s/cancel"},
		} {
			run := fmt.Sprint(name, round)
			token := s.open(run, doorInput{Hook: "ask", Stay: true})
			var closed, answered reply
			parallel(t, 2, func(i int) (r reply, err error) {
				if i == round%2 {
					answered, err = s.try("POST", "/callbacks/flow/hooks/"+token, `1`)
					return answered, err
				}
				closed, err = s.try(closing.method, fmt.Sprintf(closing.path, run), ``)
				return closed, err
			})
			checkOneWon(t, s, run, answered, closed)
		}
	}
}

func checkOneWon(t *testing.T, s *site, run string, answered, closed reply) {
	t.Helper()
	state := s.hookState(run)
	switch answered.status {
	case 202:
		if state != "resumed" {
			t.Errorf("%s: answered, but the hook is %s", run, state)
		}
		if strings.HasPrefix(run, "dispose") {
			checkProblem(t, closed, 409, "hook-already-resumed")
		}
	case 410:
		if answered.text("cause") != state || closed.status/100 != 2 {
			t.Errorf("%s: refused for %s, but the hook is %s and its closing got %d", run, answered.text("cause"), state, closed.status)
		}
	default:
		t.Errorf("%s: got %d %s", run, answered.status, answered.raw)
	}
}

func TestRace_29_an_answer_against_its_deadline(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const token = "host-token-against-the-deadline"
	s.open("r", doorInput{Hook: "ask", Token: token, Expires: 300 * time.Millisecond, Stay: true})
	var last reply
	accepted := 0
	await(t, "the hook is closed or answered", func() bool {
		last = s.answer(token, `1`)
		if last.status == 202 {
			accepted++
		}
		return last.status == 410 || accepted > 1
	})
	if accepted > 0 {
		// Known identity first: an answer in time is a duplicate for ever.
		if got := last.text("verdict"); got != "duplicate" {
			t.Errorf("got %s after an accepted answer", got)
		}
		if state := s.hookState("r"); state != "resumed" {
			t.Errorf("the hook is %s", state)
		}
		return
	}
	checkClosed(t, last, "expired")
}

// C32: of two people who decide otherwise one does, and the other is told that a decision stands.
func TestC32_two_people_decide_at_once(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "strict"})
	decisions := []string{`{"decision":"approve"}`, `{"decision":"reject"}`}
	won := make([]int, 2)
	got := parallel(t, 2, func(i int) (reply, error) {
		r, err := s.try("POST", "/callbacks/flow/hooks/"+token, decisions[i])
		won[i] = r.status
		return r, err
	})
	if got["202 accepted"] != 1 || got["409 conflict"] != 1 {
		t.Fatalf("got %v", got)
	}
	winner := decisions[0]
	if won[1] == 202 {
		winner = decisions[1]
	}
	s.awaitStatus("r", engine.StatusCompleted)
	if r := s.call("GET", "/v1/runs/r", ""); !strings.Contains(r.raw, `"output":`+winner) {
		t.Errorf("another decision stands: %s", r.raw)
	}
}

// C45: a sender that lost the answer learns by sending again that its message was taken.
func TestC45_a_lost_reply_is_a_duplicate_on_retry(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	for range 20 {
		conn := s.dial()
		if _, err := io.WriteString(conn, post("/callbacks/flow/hooks/"+token, "Content-Length: 1", "", "1")); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	s.awaitStatus("r", engine.StatusCompleted)
	r := s.answer(token, `1`)
	checkMessage(t, r, 202, "duplicate", "duplicate")
}

// C52: what was answered 2xx is in the database, whatever becomes of the process right after it.
func TestC52_no_2xx_without_a_row(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	first := serveOn(t, engineOn(t, url, nil), nil)
	first.start("r", doorInput{})
	acknowledged := make([]reply, 50)
	parallel(t, len(acknowledged), func(i int) (r reply, err error) {
		acknowledged[i], err = first.try("POST", "/v1/runs/r/signals/any%2Fthing", fmt.Sprint(i), "Idempotency-Key", fmt.Sprint("k", i))
		return acknowledged[i], err
	})
	// Another process sees every one of them; nothing waits in the first one's memory.
	second := serveOn(t, engineOn(t, url, nil), nil)
	for i, r := range acknowledged {
		checkAccepted(t, r)
		checkDuplicate(t, second.signal("r", "any%2Fthing", fmt.Sprint("k", i), fmt.Sprint(i)), r)
		seen := second.call("GET", fmt.Sprint("/v1/runs/r/signals/k", i), "")
		if seen.text("received_at") != r.text("receipt/received_at") || seen.field("sequence") != r.field("receipt/sequence") {
			t.Errorf("the receipt of k%d differs: %s and %s", i, seen.raw, r.raw)
		}
	}
}

func TestRace_wait_for_many(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			r, err := s.try("GET", "/v1/runs/r?wait=30s", "")
			if err != nil || r.text("status") != "completed" {
				t.Errorf("got %s %v", r.raw, err)
			}
		})
	}
	await(t, "all wait", func() bool { return s.gw.waiters.used.Load() == 50 })
	if n := s.gw.inFlight.used.Load(); n != 0 {
		t.Errorf("%d parked requests hold room to work in", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s.ends("r", "complete", engine.StatusCompleted)
	group.Wait()
	if ctx.Err() != nil {
		t.Error("the waiters were answered late")
	}
	await(t, "nobody waits", func() bool { return s.gw.waiters.used.Load() == 0 && s.gw.inFlight.used.Load() == 0 })
}
