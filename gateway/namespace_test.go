package gateway

import (
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

// A namespace may demand that callers name their messages; others go on without.
func TestNamespace_requires_idempotency_keys(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	strict := serveOn(t, s.gw.engine, func(cfg *Config) {
		cfg.OpenAPI, cfg.Access = false, c.verifier
		cfg.Namespaces = map[spec.Namespace]NamespaceRules{"strict": {RequireIdempotencyKey: true}}
	})
	_, key := c.key("strict", nil)
	_, free := c.key("free", nil)
	const withStart, withUpdate = "/v1/workflows/test.door/signal-with-start", "/v1/workflows/test.door/update-with-start"
	for caller, required := range map[*site]bool{strict.as(key): true, strict.as(free): false} {
		caller.start("r", doorInput{Stay: true})
		for path, body := range map[string]string{
			"/v1/runs/r/signals/note": `{"n":1}`, "/v1/runs/r/updates/set": `{"n":1}`,
			withStart:  `{"run_id":"r","signal":{"name":"note","payload":{"n":1}}}`,
			withUpdate: `{"run_id":"r","update":{"name":"set","payload":{"n":1}}}`,
		} {
			r := caller.call("POST", path, body)
			if required {
				checkProblem(t, r, 400, "idempotency-key-required")
			} else if r.status/100 != 2 {
				t.Errorf("%s: got %d %s", path, r.status, r.raw)
			}
			if r := caller.call("POST", path, body, "Idempotency-Key", "k"+path); r.status/100 != 2 {
				t.Errorf("%s with a key: got %d %s", path, r.status, r.raw)
			}
		}
		named := `{"run_id":"r","signal":{"name":"note","id":"in the body","payload":{"n":1}}}`
		if r := caller.call("POST", withStart, named); r.status/100 != 2 {
			t.Errorf("an ID in the body: got %d %s", r.status, r.raw)
		}
	}
	if r := strict.as(key).call("POST", "/v1/runs/r/signals/note?idempotency_key=q", `{"n":1}`); r.status != 202 {
		t.Errorf("a key in the query: got %d %s", r.status, r.raw)
	}
}

// A namespace may have a rate of its own, more or less than the others have.
func TestNamespace_rate_of_its_own(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	clock := newTestClock()
	gate := serveOn(t, s.gw.engine, func(cfg *Config) {
		cfg.OpenAPI, cfg.Access, cfg.Clock = false, c.verifier, clock.Now
		cfg.Limits.Namespace = Rate{PerSecond: 1, Burst: 3}
		cfg.Namespaces = map[spec.Namespace]NamespaceRules{
			"small": {Requests: Rate{PerSecond: 1, Burst: 1}}, "large": {Requests: Rate{PerSecond: 1, Burst: 5}},
			"free": {Requests: Unlimited()}, "strict": {RequireIdempotencyKey: true},
		}
	})
	for ns, served := range map[spec.Namespace]int{"small": 1, "large": 5, "strict": 3, "other": 3, "free": 20} {
		_, key := c.key(ns, nil)
		caller := gate.as(key)
		for n := range served {
			if r := caller.call("GET", "/v1/runs", ""); r.status != 200 {
				t.Errorf("%s, request %d: got %d %s", ns, n+1, r.status, r.raw)
			}
		}
		if r := caller.call("GET", "/v1/runs", ""); ns != "free" {
			checkLimited(t, r)
		}
	}
}
