package gateway

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

func TestWait_answers_when_the_run_ends(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	parked := make(chan reply, 1)
	go func() {
		r, err := s.try("GET", "/v1/runs/r?wait=60s", "")
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		parked <- r
	}()
	await(t, "the request is parked", func() bool { return s.gw.waiters.used.Load() == 1 })
	began := time.Now()
	s.ends("r", "complete", engine.StatusCompleted)
	r := <-parked
	if r.status != 200 || r.text("status") != "completed" || r.text("output") != "complete" {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("answered after %s", took)
	}
	if r := s.call("GET", "/v1/runs/r?wait=60s", ""); r.text("status") != "completed" {
		t.Errorf("an ended run: got %s", r.raw)
	}
}

func TestWait_answers_with_the_present_state_when_the_time_is_over(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	began := time.Now()
	r := s.call("GET", "/v1/runs/r?wait=300ms", "")
	if r.status != 200 || r.text("status") != "running" {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("answered after %s", took)
	}
	checkProblem(t, s.call("GET", "/v1/runs/nobody?wait=60s", ""), 404, "not-found")
}

func TestWait_refuses_what_is_no_duration_up_to_a_minute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	for _, wait := range []string{"", "30", "61s", "60.001s", "-1s", "1h", "soon", "1s&wait=1s"} {
		checkProblem(t, s.call("GET", "/v1/runs/r?wait="+wait, ""), 400, "invalid-argument")
	}
	if r := s.call("GET", "/v1/runs/r?wait=0s", ""); r.status != 200 {
		t.Errorf("0s: got %d", r.status)
	}
}

func TestWait_more_callers_than_there_is_room_for_are_answered_at_once(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.MaxWaiters = 1 })
	s.start("r", doorInput{})
	first := make(chan struct{})
	go func() {
		defer close(first)
		if _, err := s.try("GET", "/v1/runs/r?wait=60s", ""); err != nil {
			t.Errorf("wait: %v", err)
		}
	}()
	await(t, "one is parked", func() bool { return s.gw.waiters.used.Load() == 1 })
	began := time.Now()
	if r := s.call("GET", "/v1/runs/r?wait=60s", ""); r.status != 200 || r.text("status") != "running" {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("answered after %s", took)
	}
	s.ends("r", "complete", engine.StatusCompleted)
	<-first
}
