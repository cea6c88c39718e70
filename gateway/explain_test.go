package gateway

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplainShowsWhyARunWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("r", doorInput{Hook: "public", Stay: true})
	checkAccepted(t, s.signal("r", "any%2Fthing", "k", `1`))
	r := s.call("GET", "/v1/runs/r/explain", "")
	if r.status != 200 || r.text("status") != "running" || r.text("verdict") != "accepted" {
		t.Fatalf("got %d %s", r.status, r.raw)
	}
	want := []string{
		"because", "code_live", "dead_letters", "generation", "near_misses", "read_at", "run_id", "status", "unread", "verdict",
		"version", "waiting", "workflow",
	}
	got := keys(r.body)
	if r.field("next_wake_at") != nil { // the turn that the signal asks for may be due yet
		got = strings.Fields(strings.ReplaceAll(strings.Join(got, " "), "next_wake_at ", ""))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	waiting, _ := r.field("waiting").([]any)
	why, _ := r.field("because").([]any)
	if len(waiting) == 0 || len(why) == 0 {
		t.Errorf("got %s", r.raw)
	}
	micro := regexp.MustCompile(`T\d\d:\d\d:\d\d\.\d{6}Z$`)
	unread, _ := r.field("unread").([]any)
	if at, _ := unread[0].(map[string]any)["oldest_at"].(string); !micro.MatchString(at) || !micro.MatchString(r.text("read_at")) {
		t.Errorf("times: %s", r.raw)
	}
	checkProblem(t, s.call("GET", "/v1/runs/nobody/explain", ""), 404, "not-found")
	checkProblem(t, s.call("GET", "/v1/runs/r/explain?x=1", ""), 400, "invalid-argument")
}
