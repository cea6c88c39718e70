package gateway

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// outageTime is how long the database is away at least in TestOutage.
const outageTime = 2 * time.Second

// persistent sends one message until it is taken, as a sender does that knows nothing but statuses.
type persistent struct {
	s          *site
	taken      atomic.Int64 // messages
	busy       atomic.Int64 // answers 503
	duplicates atomic.Int64 // of messages whose first answer was 503
}

func (p *persistent) send(pause <-chan time.Time, path, body string, headers ...string) bool {
	for first := true; ; first = false {
		r, err := p.s.try("POST", path, body, headers...)
		switch {
		case err != nil:
			p.s.t.Errorf("send: %v", err)
			return false
		case r.status == 202:
			if r.text("verdict") != "accepted" {
				if first {
					p.s.t.Errorf("sent once and got %s", r.raw)
				}
				p.duplicates.Add(1)
			}
			p.taken.Add(1)
			return true
		case r.status != 503 || r.header.Get("Retry-After") == "":
			p.s.t.Errorf("got %d %s, Retry-After %q", r.status, r.raw, r.header.Get("Retry-After"))
			return false
		}
		p.busy.Add(1)
		<-pause
	}
}

// The database is away under load: nobody hears anything but that it must come again, and whoever does is served once the
// database is back; each message is there exactly once.
func TestOutage_only_503_and_nothing_lost(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	s := serveOn(t, engineOn(t, server.URL(), nil), func(c *Config) { c.Limits = Limits{} })
	const senders = 8
	var tokens [senders]string
	for i := range senders {
		s.start(fmt.Sprint("r", i), doorInput{})
		tokens[i] = s.open(fmt.Sprint("h", i), doorInput{Hook: "ask", Stay: true})
	}
	var (
		all  sync.WaitGroup
		each [2 * senders]persistent
		sent [senders]int
		stop = make(chan struct{})
		down = make(chan struct{})
	)
	for i := range senders {
		each[i].s, each[senders+i].s = s, s
		all.Go(func() { sent[i] = sendSignals(&each[i], fmt.Sprint("r", i), stop) })
		all.Go(func() {
			<-down
			pause := time.NewTicker(20 * time.Millisecond)
			defer pause.Stop()
			each[senders+i].send(pause.C, "/callbacks/flow/hooks/"+tokens[i], `{"ok":true}`)
		})
	}
	everyone := func(enough func(p *persistent) bool, of []persistent) func() bool {
		return func() bool {
			for i := range of {
				if !enough(&of[i]) {
					return t.Failed()
				}
			}
			return true
		}
	}
	await(t, "all are at work", everyone(func(p *persistent) bool { return p.taken.Load() >= 5 }, each[:senders]))
	server.Kill()
	close(down)
	away := time.NewTimer(outageTime)
	await(t, "all were told to come again", everyone(func(p *persistent) bool { return p.busy.Load() >= 3 }, each[:]))
	<-away.C
	pgtest.Restart(t, server)
	var before [senders]int64
	for i := range senders {
		before[i] = each[i].taken.Load()
	}
	await(t, "all are at work again", func() bool {
		for i := range senders {
			if each[i].taken.Load() < before[i]+5 || each[senders+i].taken.Load() != 1 {
				return t.Failed()
			}
		}
		return true
	})
	close(stop)
	all.Wait()
	for i := range senders {
		if state := s.hookState(fmt.Sprint("h", i)); state != "resumed" {
			t.Errorf("hook %d is %s", i, state)
		}
		checkSignals(t, s, fmt.Sprint("r", i), sent[i])
	}
}

// sendSignals sends one signal after another until it is told to stop, and returns how many.
func sendSignals(p *persistent, run string, stop <-chan struct{}) (n int) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		select {
		case <-stop:
			return n
		case <-pause.C:
		}
		key := fmt.Sprint("k", n)
		if !p.send(pause.C, "/v1/runs/"+run+"/signals/any%2Fthing", fmt.Sprint(n), "Idempotency-Key", key) {
			return n
		}
		n++
	}
}

// checkSignals checks that a run has each of n signals once, and no others.
func checkSignals(t *testing.T, s *site, run string, n int) {
	t.Helper()
	for i := range n {
		if r := s.call("GET", fmt.Sprint("/v1/runs/", run, "/signals/k", i), ""); r.status != 200 {
			t.Errorf("signal %d of %s is lost: %d", i, run, r.status)
		}
	}
	received, cursor := 0, ""
	for {
		page := s.call("GET", "/v1/runs/"+run+"/history?limit=200"+cursor, "")
		events, ok := page.field("events").([]any)
		if !ok {
			t.Fatalf("history: %d %s", page.status, page.raw)
		}
		for _, e := range events {
			if event, ok := e.(map[string]any); ok && event["type"] == "signal.received" {
				received++
			}
		}
		next := page.text("next_cursor")
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	if received != n {
		t.Errorf("%s has %d signals, %d were sent", run, received, n)
	}
}
