package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// A hook that requires a credential is not answered, withdrawn or even confirmed by its token alone.
func TestFactor_credential(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	id, key := c.key("default", nil)
	token := s.as(key).open("r", doorInput{Hook: "known", Stay: true})
	other := s.as(key).open("other", doorInput{Hook: "known", Stay: true})
	path := "/callbacks/flow/hooks/"
	_, foreign := c.key("elsewhere", nil)
	_, weak := c.key("default", nil, access.RunsRead, access.HooksDispose)
	_, ofOther := c.key("default", func(q *access.KeyRequest) { q.Run, q.Hook = "other", "h" })
	revoked, gone := c.key("default", nil)
	if _, err := c.keys.Revoke(t.Context(), revoked); err != nil {
		t.Fatal(err)
	}
	refused := func() {
		t.Helper()
		for _, payload := range []string{`1`, `2`} {
			r := s.call("POST", path+token, payload)
			checkProblem(t, r, 401, "unauthorized")
			if got := r.header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("challenge %q", got)
			}
			checkProblem(t, s.call("POST", path+token, payload, "Authorization", "Basic "+key), 401, "unauthorized")
			for _, bad := range []string{gone, key[:52] + "-", token, c.jwt("default", map[string]any{"exp": 2, "iat": 1})} {
				r := s.as(bad).call("POST", path+token, payload)
				checkProblem(t, r, 401, "unauthorized")
				if got := r.header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token"` {
					t.Errorf("challenge %q", got)
				}
			}
			for _, valid := range []string{foreign, weak, ofOther} {
				checkProblem(t, s.as(valid).call("POST", path+token, payload), 403, "forbidden")
			}
			// The token as the credential leaves no place for another one.
			checkProblem(t, s.call("POST", "/callbacks/flow/hooks", payload, "Authorization", "Bearer "+token), 401, "unauthorized")
			checkProblem(t, s.call("DELETE", path+token, ""), 401, "unauthorized")
		}
	}
	refused()
	if state := s.as(key).hookState("r"); state != "active" {
		t.Fatalf("the hook is %s", state)
	}
	first := s.as(key).call("POST", path+token, `1`)
	checkAccepted(t, first)
	refused()
	checkDuplicate(t, s.as(c.exchanged(key, publicURL+"/v1/runs/r/hooks/h")).call("POST", path+token, `1`), first)
	checkDiffers(t, s.as(key).call("POST", path+token, `2`), "hook-payload-conflict", "payload")
	if history := s.as(key).call("GET", "/v1/runs/r/history", "").raw; !strings.Contains(history, `"actor":"key:`+id+`"`) {
		t.Errorf("the history does not say who: %s", history)
	}
	// Who may not withdraw may not do so with the token either.
	_, resumeOnly := c.key("default", nil, access.HooksResume)
	checkProblem(t, s.as(resumeOnly).call("DELETE", path+other, ""), 403, "forbidden")
	if r := s.as(weak).call("DELETE", path+other, ""); r.status != 200 {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	// Nobody learns of a second factor who lacks the first one.
	for _, caller := range []*site{s, s.as(key)} {
		checkProblem(t, caller.call("POST", path+junkToken, `1`), 404, "not-found")
	}
	// An open API is no proof of who somebody is.
	open := serveOn(t, s.gw.engine, func(cfg *Config) { cfg.Access = c.verifier })
	checkProblem(t, open.call("POST", path+token, `1`), 401, "unauthorized")
	if n := s.gw.inFlight.used.Load(); n != 0 {
		t.Errorf("%d slots are lost", n)
	}
}

// Who holds a hook's token is asked for a credential, and spends what its own address may look up when it guesses one: not, from
// an address that is never suspect, what all others look up with.
func TestFactor_guesses_count(t *testing.T) {
	t.Parallel()
	s, c, breaker := limitedGuarded(t, Limits{Failures: Rate{PerSecond: 1, Burst: 3}})
	_, key := c.key("default", nil)
	path := "/callbacks/flow/hooks/" + s.as(key).open("r", doorInput{Hook: "known", Stay: true})
	seen := statements(breaker, func() {
		for range 100 {
			guess, err := tokens.NewAPIKey(rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if r := s.as(guess.Reveal()).call("POST", path, `1`); r.status != 401 && r.status != 429 {
				t.Errorf("got %d", r.status)
			}
		}
	})
	looked := 0
	for _, sql := range seen {
		if strings.Contains(sql, "name: FindAPIKeys") {
			looked++
		}
	}
	if most := 3 + DefaultLimits().suspect().Burst; looked == 0 || looked > most {
		t.Errorf("%d guesses were looked up, want at most %d", looked, most)
	}
	checkAccepted(t, s.as(key).call("POST", path, `1`))
}

// pager is a HookVerifier of one source, whose signature is a word.
type pager struct {
	asked atomic.Int64
}

func (p *pager) VerifyHook(_ context.Context, source string, ns spec.Namespace, header map[string][]string, body []byte) error {
	p.asked.Add(1)
	if values := header["x-signature"]; source == "pager" && ns == "default" && len(values) == 1 && values[0] == "signed "+string(body) {
		return nil
	}
	return errors.New("a reason that " + secretWord)
}

func TestFactor_signature(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	verifier := &pager{}
	signing := serveOn(t, s.gw.engine, func(cfg *Config) { cfg.OpenAPI, cfg.Access, cfg.HookVerifier = false, c.verifier, verifier })
	_, key := c.key("default", nil)
	token := s.as(key).open("r", doorInput{Hook: "signed", Stay: true})
	path := "/callbacks/flow/hooks/"
	for what, r := range map[string]reply{
		"no signature":                signing.call("POST", path+token, `1`),
		"another body's signature":    signing.call("POST", path+token, `1`, "X-Signature", "signed 2"),
		"a re-spelt body":             signing.call("POST", path+token, `1.0`, "X-Signature", "signed 1"),
		"a credential in its place":   signing.as(key).call("POST", path+token, `1`),
		"nobody who verifies":         s.call("POST", path+token, `1`, "X-Signature", "signed 1"),
		"a withdrawal that is not":    signing.call("DELETE", path+token, ""),
		"a withdrawal of the payload": signing.call("DELETE", path+token, `{}`, "X-Signature", "signed 1"),
	} {
		if r.status != 401 || r.text("code") != "signature-invalid" || strings.Contains(r.raw, secretWord) {
			t.Errorf("%s: got %d %s", what, r.status, r.raw)
		}
	}
	first := signing.call("POST", path+token, `1`, "X-Signature", "signed 1")
	checkAccepted(t, first)
	checkDuplicate(t, signing.call("POST", path+token, `1`, "X-Signature", "signed 1"), first)
	asked := verifier.asked.Load()
	checkProblem(t, signing.call("POST", path+junkToken, `1`, "X-Signature", "signed 1"), 404, "not-found")
	checkProblem(t, signing.call("POST", path+token, `{`, "X-Signature", "signed {"), 400, "malformed-payload")
	if verifier.asked.Load() != asked {
		t.Error("a signature was verified for nobody's sake")
	}
	if logs := signing.logs.String(); strings.Contains(logs, secretWord) {
		t.Error("the log has the reason")
	}
}

// A source of signed webhooks is what verifies callbacks to hooks that want a signature.
func TestFactor_signature_of_a_source(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const source = `"verify":{"header":"X-Shop-Signature","prefix":"s=","signed":"{body}"},"secrets":[{"id":"a","secret":"` + shopSecret + `"}],
		"run":"/run","signal":"note","id":"/id"`
	sources, err := ingress.Parse([]byte(`{"sources":{"pager":{` + source + `}}}`))
	if err != nil {
		t.Fatal(err)
	}
	signing := serveOn(t, s.gw.engine, func(cfg *Config) { cfg.HookVerifier = ingress.New(sources, ingress.Options{}) })
	path := "/callbacks/flow/hooks/" + s.open("r", doorInput{Hook: "signed", Stay: true})
	for what, signature := range map[string]string{"none": "", "of another body": shopSign(`2`), "a prefix": "s="} {
		if r := signing.call("POST", path, `1`, "X-Shop-Signature", signature); r.status != 401 || r.text("code") != "signature-invalid" {
			t.Errorf("%s: got %d %s", what, r.status, r.raw)
		}
	}
	checkAccepted(t, signing.call("POST", path, `1`, "X-Shop-Signature", shopSign(`1`)))
}
