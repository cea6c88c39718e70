package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSurface_run_history_and_lists(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 5 {
		r := s.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.door","run_id":"r%d","labels":{"odd":"%d","all":"a=b"},"input":{"hook":"ask"}}`, i, i%2))
		if r.status != 201 {
			t.Fatal(r.raw)
		}
		await(t, "the hook is there", func() bool { return s.hookState(fmt.Sprint("r", i)) == "active" })
	}
	run := s.call("GET", "/v1/runs/r0", "")
	if run.text("status") != "running" || run.text("verdict") != "accepted" {
		t.Errorf("got %s", run.raw)
	}
	if waiting := fmt.Sprint(run.field("waiting")); !strings.Contains(waiting, "kind:hook") || !strings.Contains(waiting, "kind:signal") {
		t.Errorf("waiting: got %s", waiting)
	}
	if got := idsOf(t, s, "/v1/runs?limit=2", "run_id"); fmt.Sprint(got) != "[r4 r3 r2 r1 r0]" {
		t.Errorf("pages: got %v", got)
	}
	for query, want := range map[string]string{
		"label=odd%3D1":                "[r3 r1]",
		"label=odd=0&label=all=a%3Db":  "[r4 r2 r0]",
		"label=odd=0&label=odd=0":      "[r4 r2 r0]",
		"label=none=1":                 "[]",
		"workflow=test.door&limit=200": "[r4 r3 r2 r1 r0]",
		"workflow=other":               "[]",
		"status=running":               "[r4 r3 r2 r1 r0]",
		"status=failed":                "[]",
	} {
		if got := idsOf(t, s, "/v1/runs?"+query, "run_id"); fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", query, got, want)
		}
	}
	if got := idsOf(t, s, "/v1/hooks?state=active&label=team=a&limit=3", "run_id"); fmt.Sprint(got) != "[r4 r3 r2 r1 r0]" {
		t.Errorf("hooks: got %v", got)
	}
	if got := idsOf(t, s, "/v1/hooks?older_than=24h", "run_id"); len(got) != 0 {
		t.Errorf("old hooks: got %v", got)
	}
	if got := idsOf(t, s, "/v1/runs/r2/hooks", "run_id"); fmt.Sprint(got) != "[r2]" {
		t.Errorf("hooks of one run: got %v", got)
	}
	checkProblem(t, s.call("GET", "/v1/runs/nobody/hooks", ""), 404, "not-found")
	checkHistory(t, s)
}

func checkHistory(t *testing.T, s *site) {
	t.Helper()
	var types []string
	path := "/v1/runs/r0/history?limit=2"
	for at := path; at != ""; {
		r := s.call("GET", at, "")
		events, _ := r.field("events").([]any)
		for _, e := range events {
			event := e.(map[string]any)
			if diff := cmp.Diff([]string{"at", "data", "generation", "seq", "type"}, keys(event)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			types = append(types, event["type"].(string))
			if event["type"] == "hook.created" {
				if id, _ := event["data"].(map[string]any)["token_id"].(string); len(id) != 8 {
					t.Errorf("token_id is missing in %v", event)
				}
			}
		}
		at = ""
		if next := r.text("next_cursor"); next != "" {
			at = path + "&cursor=" + next
		}
	}
	if got := strings.Join(types, " "); got != "run.started hook.created wait.opened" && got != "run.started wait.opened hook.created" {
		t.Errorf("got %s", got)
	}
	if r := s.call("GET", "/v1/runs/r0/history?generation=7", ""); r.status != 200 {
		t.Errorf("a generation that is not: got %d", r.status)
	}
}

// idsOf follows a list to its end.
func idsOf(t *testing.T, s *site, path, member string) []string {
	t.Helper()
	ids := []string{}
	for at := path; at != ""; {
		r := s.call("GET", at, "")
		if r.status != 200 || r.text("verdict") != "accepted" {
			t.Fatalf("%s: got %d %s", at, r.status, r.raw)
		}
		items, ok := r.field("items").([]any)
		if !ok {
			t.Fatalf("%s: no items in %s", at, r.raw)
		}
		for _, item := range items {
			ids = append(ids, fmt.Sprint(item.(map[string]any)[member]))
		}
		at = ""
		if next := r.text("next_cursor"); next != "" {
			at = path + "&cursor=" + next
		}
	}
	return ids
}
