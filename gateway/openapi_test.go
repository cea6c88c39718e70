package gateway

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// The description is valid OpenAPI 3.1, the same text each time, and has every route and nothing else.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	text, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if again, err := describe(); err != nil || string(again) != string(text) {
			t.Errorf("another description, %v", err)
		}
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("openapi %s", doc.OpenAPI)
	}
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			described = append(described, method+" "+placeholder.ReplaceAllString(path, "{}"))
			if o.Summary == "" || o.OperationID == "" {
				t.Errorf("%s %s has no summary or no ID", method, path)
			}
		}
	}
	for _, r := range (*Gateway)(nil).routes() {
		served = append(served, r.method+" "+placeholder.ReplaceAllString(r.pattern, "{}"))
		if _, ok := operations[r.method+" "+r.pattern]; !ok {
			t.Errorf("%s %s is not described: see operations", r.method, r.pattern)
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described\n%v\nserved\n%v", described, served)
	}
	if len(operations) != len(served) {
		t.Errorf("%d operations for %d routes", len(operations), len(served))
	}
}

// Everybody may read it, over any gateway.
func TestOpenAPI_is_served(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.OpenAPI = false })
	r := s.call("GET", "/openapi.json", "")
	if r.status != 200 || r.header.Get("Content-Type") != "application/json" || r.text("openapi") != "3.1.0" {
		t.Errorf("got %d %s", r.status, r.raw[:min(200, len(r.raw))])
	}
	checkHeaders(t, r)
	if strings.Contains(r.raw, "example.com") || strings.Contains(r.raw, s.addr) {
		t.Error("the description names a host")
	}
	checkProblem(t, s.call("POST", "/openapi.json", ""), 405, "method-not-allowed")
}

// A parameter that is described is taken, and no other one is.
func TestOpenAPI_parameters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("r", doorInput{Hook: "ask", Stay: true})
	checkAccepted(t, s.signal("r", "note", "k", `{"n":1}`))
	s.update("r", "set", "u", `{"n":1}`, "20s")
	known := strings.NewReplacer("{run}", "r", "{hook}", "h", "{signal}", "k", "{update}", "u", "{name}", "hook", "{workflow}", "test.door")
	for _, r := range (*Gateway)(nil).routes() {
		path := known.Replace(r.pattern)
		if r.method != "GET" || strings.Contains(path, "{") || r.pattern == openAPIPattern {
			continue
		}
		o := operations[r.method+" "+r.pattern]
		for _, p := range o.query {
			if got := s.call("GET", path+"?"+p.Name+"=", ""); strings.Contains(got.raw, "is not a parameter of this request") {
				t.Errorf("%s: %s is described and not taken", r.pattern, p.Name)
			}
		}
		got := s.call("GET", path+"?nonsense=1", "")
		if len(o.query) > 0 && !strings.Contains(got.raw, "is not a parameter of this request") {
			t.Errorf("%s takes ?nonsense: %d %s", r.pattern, got.status, got.raw)
		}
	}
}

// What the contract finds wrong: an undescribed status, code, member or kind of body.
func TestOpenAPI_contract_finds(t *testing.T) {
	t.Parallel()
	good := reply{status: 202, header: map[string][]string{"Content-Type": {"application/json"}}, raw: `{"outcome":"accepted","verdict":"accepted",` +
		`"receipt":{"run_id":"r"},"request_id":"x"}`}
	const path = "/v1/runs/a%2Fb/retry"
	if err := described31.check("POST", path, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*reply){
		"a status":           func(r *reply) { r.status = 207 },
		"a member":           func(r *reply) { r.raw = strings.Replace(r.raw, `"run_id"`, `"secret":1,"run_id"`, 1) },
		"a member left out":  func(r *reply) { r.raw = strings.Replace(r.raw, `"outcome":"accepted",`, "", 1) },
		"a verdict":          func(r *reply) { r.raw = strings.Replace(r.raw, `"verdict":"accepted"`, `"verdict":"fine"`, 1) },
		"a type":             func(r *reply) { r.raw = strings.Replace(r.raw, `"run_id":"r"`, `"run_id":7`, 1) },
		"no JSON":            func(r *reply) { r.raw = "<html>" },
		"a kind of body":     func(r *reply) { r.header = map[string][]string{"Content-Type": {"text/html"}} },
		"a code of its own":  func(r *reply) { *r = problemReply(410, "hook-closed") },
		"a code of nobody's": func(r *reply) { *r = problemReply(410, "tired") },
	} {
		bad := good
		change(&bad)
		if err := described31.check("POST", path, bad); err == nil {
			t.Errorf("%s is not found", name)
		}
	}
	if err := described31.check("POST", path, problemReply(410, "run-ended")); err != nil {
		t.Error(err)
	}
}

func problemReply(status int, code string) reply {
	text, err := json.Marshal(problemDocument{Code: code, Status: status, Verdict: "gone"})
	if err != nil {
		panic(err)
	}
	return reply{status: status, header: map[string][]string{"Content-Type": {"application/problem+json"}}, raw: string(text)}
}

// The page of the routes names each of them.
func TestOpenAPI_IDs(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for at, o := range operations {
		if !regexp.MustCompile(`^[a-z][A-Za-z]+$`).MatchString(o.id) || seen[o.id] != "" {
			t.Errorf("%s: the ID %q is none, or that of %s", at, o.id, seen[o.id])
		}
		seen[o.id] = fmt.Sprint(at)
	}
}
