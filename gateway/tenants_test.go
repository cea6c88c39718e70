package gateway

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// tenants are two namespaces on one database behind two gateways. Everything there is belongs to alpha.
type tenants struct {
	*credentials
	gates  []*site
	alpha  string // a key of alpha
	token  string // of alpha's hook
	letter string // ID of alpha's dead letter
}

func newTenants(t *testing.T) *tenants {
	t.Helper()
	url := pgtest.URL(t)
	w := &tenants{credentials: newCredentials(t, url)}
	for range 2 {
		eng := bareEngine(t, url, nil)
		for _, err := range []error{
			eng.Register(doorSpec, door, doorCode...), eng.Register(spec.WorkflowSpec{Name: "test.step", Version: "1"}, stepOnce),
			eng.RegisterStep("work", func(context.Context, *engine.Step) (any, error) { return nil, engine.Coded("down", errors.New("no")) }),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		run(t, eng)
		w.gates = append(w.gates, guarded(t, eng, w.credentials))
	}
	_, w.alpha = w.key("alpha", nil)
	w.fill()
	return w
}

// fill gives alpha one of everything.
func (w *tenants) fill() {
	w.t.Helper()
	a := w.gates[0].as(w.alpha)
	w.token = a.open("target", doorInput{Hook: "soft", Stay: true})
	checkAccepted(w.t, a.signal("target", "note", "s1", `{"n":1}`))
	if r := a.call("POST", "/v1/runs/target/updates/set?wait=10s", `{"n":1}`, "Idempotency-Key", "u1"); r.status/100 != 2 {
		w.t.Fatalf("update: %d %s", r.status, r.raw)
	}
	w.letter = strings.TrimPrefix((&letterSite{site: a}).fail("broken", "work", true), "/v1/dead-letters/")
	a.start("second", doorInput{})
	await(w.t, "alpha's runs wait", func() bool {
		waiting, _ := a.call("GET", "/v1/runs/second", "").field("waiting").([]any)
		return len(waiting) > 0
	})
}

// kinds are the credentials that a caller of beta can have, also those that name what is alpha's.
func (w *tenants) kinds() map[string]string {
	_, key := w.key("beta", nil)
	_, ofRun := w.key("beta", func(r *access.KeyRequest) { r.Run = "target" })
	_, ofHook := w.key("beta", func(r *access.KeyRequest) { r.Run, r.Hook = "target", "h" })
	_, ofNames := w.key("beta", func(r *access.KeyRequest) { r.Signals = []string{"note"} })
	token := w.jwt("beta", nil)
	return map[string]string{
		"an API key": key, "one of a run": ofRun, "one of a hook": ofHook, "one of some names": ofNames, "a JWT": token,
		"a JWT of a run":            w.jwt("beta", map[string]any{"run": "target"}),
		"an exchanged key":          w.exchanged(key, ""),
		"an exchanged key of a run": w.exchanged(key, publicURL+"/v1/runs/target"),
		"an exchanged JWT":          w.exchanged(token, publicURL+"/v1/runs/target/hooks/h"),
	}
}

// at is the path of a route for one run and one letter.
func (r route) at(run, letter string) string {
	return strings.NewReplacer("{run}", run, "{hook}", "h", "{name}", "note", "{signal}", "s1", "{update}", "u1", "{letter}", letter,
		"{workflow}", "test.door").Replace(r.pattern)
}

// bodies are what routes are sent, in which RUN and TOKEN stand for what differs.
var bodies = map[string]string{
	"/v1/runs":                                   `{"workflow":"test.door","run_id":"RUN"}`,
	"/v1/runs/{run}/signals/{name}":              `{"n":1}`,
	"/v1/runs/{run}/updates/{name}":              `{"n":1}`,
	"/v1/runs/{run}/hooks/{hook}/resume":         `1`,
	"/v1/runs/{run}/hooks/{hook}/pages":          `{"recipient":"ada"}`,
	"/v1/runs/{run}/queries/{name}":              `null`,
	"/v1/hooks/dispose":                          `{"token":"TOKEN"}`,
	"/v1/workflows/{workflow}/signal-with-start": `{"run_id":"RUN","signal":{"name":"note","payload":{"n":1}}}`,
	"/v1/workflows/{workflow}/update-with-start": `{"run_id":"RUN","update":{"name":"set","payload":{"n":1}}}`,
}

// varying is what differs between two answers to one question: times, IDs that were made for them, ages and budgets.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|"[a-z_]+_at":"[^"]*"|"age":"[^"]*"|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// plain is all of an answer that may not differ.
func plain(r reply) string {
	var lines []string
	for name, values := range r.header {
		if name != "Date" && name != "X-Request-Id" && !strings.HasPrefix(name, "Ratelimit") {
			lines = append(lines, fmt.Sprint(name, values))
		}
	}
	slices.Sort(lines)
	return varying.ReplaceAllString(fmt.Sprint(r.status, lines, r.raw), "?")
}

// 48: to who has a valid credential of another namespace, a run that is there is to the byte as one that is not, on every
// route, for every kind of credential, at either gateway; and whatever is tried, nothing of it changes.
func TestTenants_48_see_nothing_of_each_other(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	before := w.snapshot()
	strange := w.strangeToken()
	for kind, credential := range w.kinds() {
		for n, gate := range w.gates {
			caller := gate.as(credential)
			for _, r := range gate.gw.routes() {
				if r.needs == "" || r.needs == access.RunsStart {
					continue
				}
				body := bodies[r.pattern]
				there := caller.call(r.method, r.at("target", w.letter), strings.ReplaceAll(body, "TOKEN", w.token))
				nobody := caller.call(r.method, r.at("target0", "99999999"), strings.ReplaceAll(body, "TOKEN", strange))
				if one, two := plain(there), plain(nobody); one != two {
					t.Errorf("%s, gateway %d, %s %s:\n%s\n%s", kind, n, r.method, r.pattern, one, two)
				}
				if strings.Contains(r.pattern, "{run}") && there.status != 404 {
					t.Errorf("%s: %s %s: %d %s", kind, r.method, r.pattern, there.status, there.raw)
				}
				w.shows(kind+" "+r.pattern, there)
			}
		}
	}
	w.startsItsOwn()
	if after := w.snapshot(); after != before {
		t.Errorf("alpha changed:\n%s\n%s", before, after)
	}
}

// shows checks that an answer to beta has nothing of alpha.
func (w *tenants) shows(what string, r reply) {
	w.t.Helper()
	for _, word := range []string{`"target"`, `"broken"`, `"second"`, `"letter_id":"` + w.letter, w.token, "alpha"} {
		if strings.Contains(r.raw, word) {
			w.t.Errorf("%s shows %s: %s", what, word, r.raw)
		}
	}
}

// strangeToken is a token of the same keys that belongs to nothing.
func (w *tenants) strangeToken() string {
	w.t.Helper()
	minted := testKeys(w.t).Mint(tokens.Binding{Namespace: "alpha", RunID: "target", HookID: "none"}, tokens.Nonce{1})
	return minted.Token.Reveal()
}

// snapshot is all that alpha sees, at both gateways.
func (w *tenants) snapshot() string {
	var all strings.Builder
	for _, gate := range w.gates {
		a := gate.as(w.alpha)
		for _, path := range []string{
			"/v1/runs", "/v1/runs/target", "/v1/runs/target/history", "/v1/runs/target/hooks", "/v1/runs/target/hooks/h", "/v1/hooks",
			"/v1/runs/target/signals/s1", "/v1/runs/target/updates/u1", "/v1/runs/broken", "/v1/runs/broken/history",
			"/v1/dead-letters", "/v1/dead-letters/" + w.letter, "/v1/runs/target/queries/hook",
		} {
			r := a.call("GET", path, "")
			if r.status != 200 {
				w.t.Fatalf("%s: %d %s", path, r.status, r.raw)
			}
			fmt.Fprintln(&all, path, regexp.MustCompile(`"age":"[^"]*"`).ReplaceAllString(r.raw, ""))
		}
	}
	return all.String()
}

// startsItsOwn has beta start runs of the IDs that alpha's have: they are other runs, and nothing tells that the IDs are
// in use elsewhere. What alpha's lists point to shows beta its own.
func (w *tenants) startsItsOwn() {
	w.t.Helper()
	_, key := w.key("beta", nil)
	b := w.gates[1].as(key)
	for _, r := range b.gw.routes() {
		if r.needs != access.RunsStart {
			continue
		}
		send := func(id string) reply {
			return b.call(r.method, r.at("", ""), strings.ReplaceAll(bodies[r.pattern], "RUN", id))
		}
		ids := map[string][2]string{
			"/v1/runs": {"target", "fresh1"}, "/v1/workflows/{workflow}/signal-with-start": {"second", "fresh2"},
			"/v1/workflows/{workflow}/update-with-start": {"broken", "fresh3"},
		}[r.pattern]
		// How far a run is when it is shown is chance; what became of the request is not.
		outcome := func(id string) string {
			r := send(id)
			return fmt.Sprint(r.status, r.text("outcome"), r.text("verdict"), r.field("started_fresh"), r.header.Get("Idempotent-Replayed"),
				r.header.Get("Location") == "/v1/runs/"+id, r.text("run_id") == id, r.field("differs"))
		}
		if one, two := outcome(ids[0]), outcome(ids[1]); one != two || !strings.HasPrefix(one, "201") {
			w.t.Errorf("%s:\n%s\n%s", r.pattern, one, two)
		}
	}
	checkProblem(w.t, b.call("GET", "/v1/runs/target/hooks/h", ""), 404, "not-found")
	checkProblem(w.t, b.call("GET", "/v1/runs/target/signals/s1", ""), 404, "not-found")
	for _, list := range []string{"/v1/runs", "/v1/hooks", "/v1/dead-letters"} {
		cursor := w.gates[0].as(w.alpha).call("GET", list+"?limit=1", "").text("next_cursor")
		for _, path := range []string{list + "?limit=200", list + "?limit=200&cursor=" + cursor} {
			if strings.HasSuffix(path, "cursor=") {
				continue
			}
			r := b.call("GET", path, "")
			items, ok := r.field("items").([]any)
			if r.status != 200 || !ok {
				w.t.Errorf("%s: %d %s", path, r.status, r.raw)
			}
			for _, item := range items {
				if id := fmt.Sprint(item.(map[string]any)["run_id"]); list != "/v1/runs" || !slices.Contains([]string{
					"target", "second", "broken", "fresh1", "fresh2", "fresh3",
				}, id) {
					w.t.Errorf("%s shows %s", path, id)
				}
			}
		}
	}
}
