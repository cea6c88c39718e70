package gateway

import (
	"net/url"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/access"
)

// exchangeForm is a good request but for the changes; an empty value takes a parameter away.
func exchangeForm(changes ...string) string {
	form := url.Values{"grant_type": {grantExchange}, "subject_token_type": {typeAccess}}
	for i := 0; i+1 < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			form.Del(changes[i])
		}
	}
	return form.Encode()
}

func (s *site) exchange(form string, headers ...string) reply {
	s.t.Helper()
	return s.call("POST", "/v1/token", form, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// A key becomes the capability of one hook, for a minute, and ends with its key.
func TestExchange_capability(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	id, key := c.key("default", nil)
	s.as(key).open("a.b", doorInput{Hook: "ask", Stay: true})
	r := s.exchange(exchangeForm("subject_token", key, "scope", "hooks:resume", "resource", publicURL+"/v1/runs/a%2Eb/hooks/h",
		"audience", publicURL, "expires_in", "60", "requested_token_type", typeJWT))
	if r.status != 200 || r.text("token_type") != "Bearer" || r.text("issued_token_type") != typeAccess || r.text("scope") != "hooks:resume" ||
		r.field("expires_in") == nil || r.text("verdict") != "accepted" || r.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %s", r.status, r.raw)
	}
	token := r.text("access_token")
	says := claimsOf(t, token)
	if life := says["exp"].(float64) - says["iat"].(float64); life != 60 || says["run"] != "a.b" || says["hook"] != "h" || says["sub"] != "key:"+id {
		t.Errorf("claims %v", says)
	}
	checkProblem(t, s.as(token).call("GET", "/v1/runs/a%2Eb/hooks/h", ""), 403, "forbidden")
	checkProblem(t, s.as(token).call("POST", "/v1/runs/other/hooks/h/resume", `1`), 404, "not-found")
	checkAccepted(t, s.as(token).call("POST", "/v1/runs/a%2Eb/hooks/h/resume", `1`))
	if _, err := c.keys.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	checkProblem(t, s.as(token).call("POST", "/v1/runs/a%2Eb/hooks/h/resume", `1`), 401, "unauthorized")
	if r := s.exchange(exchangeForm("subject_token", key)); r.status != 400 || r.text("error") != "invalid_request" {
		t.Errorf("a revoked key: %d %s", r.status, r.raw)
	}
}

func TestExchange_refused(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	_, key := c.key("default", nil, access.RunsRead)
	good := exchangeForm("subject_token", key)
	if r := s.exchange(good); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.raw)
	}
	with := func(changes ...string) string {
		return exchangeForm(append([]string{"subject_token", key}, changes...)...)
	}
	for what, tc := range map[string]struct{ form, code string }{
		"nothing":               {"", "unsupported_grant_type"},
		"another grant":         {with("grant_type", "client_credentials"), "unsupported_grant_type"},
		"no token":              {exchangeForm(), "invalid_request"},
		"a mangled key":         {exchangeForm("subject_token", key[:52]+"-"), "invalid_request"},
		"a hook token":          {exchangeForm("subject_token", junkToken), "invalid_request"},
		"no type":               {with("subject_token_type", ""), "invalid_request"},
		"another type":          {with("subject_token_type", "urn:ietf:params:oauth:token-type:saml2"), "invalid_request"},
		"a key that is no JWT":  {with("subject_token_type", typeJWT), "invalid_request"},
		"a refresh token":       {with("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"), "invalid_request"},
		"a scope more":          {with("scope", "runs:read runs:cancel"), "invalid_scope"},
		"no scope":              {with("scope", " "), "invalid_scope"},
		"another audience":      {with("audience", "https://evil.example"), "invalid_target"},
		"another's resource":    {with("resource", "https://evil.example/v1/runs/r"), "invalid_target"},
		"a longer life":         {with("expires_in", "601"), "invalid_request"},
		"no life":               {with("expires_in", "0"), "invalid_request"},
		"a life in words":       {with("expires_in", "1e2"), "invalid_request"},
		"a life that overflows": {with("expires_in", "65537"), "invalid_request"},
		"a misspelt resource":   {with("ressource", publicURL+"/v1/runs/r"), "invalid_request"},
		"an actor":              {with("actor_token", key), "invalid_request"},
		"a parameter twice":     {good + "&scope=runs%3Aread&scope=runs%3Aread", "invalid_request"},
		"a credential twice":    {good + "&subject_token=" + key, "invalid_request"},
		"an empty parameter":    {good + "&scope=", "invalid_request"},
		"a bad escape":          {good + "&scope=%zz", "invalid_request"},
		"semicolons":            {good + ";scope=x", "invalid_request"},
		"many parameters":       {good + strings.Repeat("&a=b", 20000), "invalid_request"},
		"a namespace":           {with("ns", "other"), "invalid_request"},
	} {
		r := s.exchange(tc.form)
		if r.status != 400 || r.text("error") != tc.code || r.text("error_description") == "" || r.text("verdict") == "" ||
			r.text("request_id") != r.header.Get("X-Request-Id") {
			t.Errorf("%s: got %d %s, want %s", what, r.status, r.raw, tc.code)
		}
		if strings.Contains(r.raw, key[4:40]) || strings.Contains(r.raw, "evil") {
			t.Errorf("%s: the answer repeats what was sent", what)
		}
		checkHeaders(t, r)
	}
	for what, headers := range map[string][]string{
		"JSON": {"Content-Type", "application/json"}, "another charset": {"Content-Type", "application/x-www-form-urlencoded; charset=latin1"},
		"no type": {"Content-Type", ""}, "multipart": {"Content-Type", "multipart/form-data; boundary=x"},
		"an encoding": {"Content-Type", "application/x-www-form-urlencoded", "Content-Encoding", "gzip"},
	} {
		if r := s.call("POST", "/v1/token", good, headers...); r.status != 400 || r.text("error") != "invalid_request" {
			t.Errorf("%s: got %d %s", what, r.status, r.raw)
		}
	}
	r := s.exchange(good, "Authorization", "Bearer "+key)
	if r.status != 401 || r.text("error") != "invalid_client" || r.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("a client of its own: %d %s", r.status, r.raw)
	}
	checkProblem(t, s.call("GET", "/v1/token?"+good, ""), 405, "method-not-allowed")
	if r := s.exchange(good + strings.Repeat("&", DefaultMaxBody)); r.status != 400 && r.status != 413 {
		t.Errorf("a large form: %d", r.status)
	}
}
