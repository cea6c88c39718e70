package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A decision that counts is told so to who sends it again from a form that is too old: the answer to the first one may have
// been lost. Whatever else comes from such a form is not taken.
func TestPage_59_the_same_decision_of_an_old_form(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	s := pagesOn(t, pgtest.URL(t), func(c *engine.Config) { c.Clock = clock.Now }, nil)
	s.asks("r", askInput{Name: "sure", Meta: spec.HumanApproval("x").WithRule(1, 2)})
	path, bobs := s.page("r", "ada"), s.page("r", "bob")
	_, early := s.read(path)
	sure := nonceOf(s.decides(path, "approve", "c"))
	same := []string{"nonce", sure, "decision", "approve", "comment", "c", "confirm", "yes"}
	checkKept(t, s.send(path, same...), path)
	clock.pass(time.Hour)
	checkKept(t, s.send(path, same...), path)
	checkKept(t, s.send(path, "nonce", early, "decision", "approve", "comment", "c"), path)
	for name, r := range map[string]reply{
		"reject":          s.send(path, "nonce", early, "decision", "reject", "comment", "c"),
		"another comment": s.send(path, "nonce", early, "decision", "approve"),
		"nothing":         s.send(path, "nonce", early),
		"bob agrees":      s.send(bobs, "nonce", early, "decision", "approve", "comment", "c"),
	} {
		if r.status != 409 {
			t.Errorf("%s: %d", name, r.status)
			continue
		}
		says(t, r, "the first one stands")
	}
	foreign := s.call("POST", path, formText(same...), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site")
	checkPage(t, foreign, 403)
	if history := s.call("GET", "/v1/runs/r/history", "").raw; strings.Count(history, `"hook.resumed"`) != 1 {
		t.Errorf("history %s", history)
	}
}
