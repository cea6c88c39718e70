package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// C81 with a database that is away when the time is up: who decides then is told that it is not known, on a page, and once the
// database is back it is too late. Nobody has approved.
func TestC81_silence_without_a_database(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	s := pagesOn(t, server.URL(), nil, nil)
	const open = 4 * time.Second
	began := time.Now()
	s.asks("r", askInput{For: open.Milliseconds(), Meta: spec.HumanApproval("x")})
	path := s.page("r", "ada")
	_, nonce := s.read(path)
	server.Kill()
	send := func() reply { return s.send(path, "nonce", nonce, "decision", "approve") }
	for _, r := range []reply{send(), s.call("GET", path, "")} {
		checkPage(t, r, 503)
		says(t, r, "Not now")
	}
	await(t, "the deadline passes", func() bool { return time.Since(began) > open+time.Second })
	checkPage(t, send(), 503)

	pgtest.Restart(t, server)
	var late reply
	await(t, "the database is back", func() bool { late = send(); return late.status != 503 })
	checkPage(t, late, 410)
	says(t, late, "The deadline has passed", "Not decided in time")
	if state := s.hookState("r"); state != "expired" {
		t.Errorf("the hook is %s", state)
	}
	if history := s.call("GET", "/v1/runs/r/history", "").raw; strings.Contains(history, "hook.resumed") {
		t.Errorf("history %s", history)
	}
}
