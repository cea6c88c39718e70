package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// 65, C67: no credential that was ever sent, well or badly, is found in a log, in the database, or in any answer but the
// one of its exchange.
func TestC67_credentials_are_searched_for(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	logs := &logBuffer{}
	eng := engineOn(t, url, func(cfg *engine.Config) { cfg.Logger = zerolog.New(logs) })
	guardedSite := guarded(t, eng, c)
	open := serveOn(t, eng, func(cfg *Config) { cfg.Access = c.verifier })
	_, admin := c.key("default", nil)
	hook := guardedSite.as(admin).open("known", doorInput{Hook: "known", Stay: true})

	var secrets []string
	var answers strings.Builder
	for i := range 20 {
		id, key := c.key("default", nil)
		if i%5 == 4 {
			if _, err := c.keys.Revoke(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		sent := []string{key, c.jwt("default", map[string]any{"jti": fmt.Sprint(i)})}
		if i%5 != 4 {
			sent = append(sent, c.exchanged(key, ""))
		}
		secrets = append(secrets, sent...)
		for _, s := range []*site{guardedSite, open} {
			for _, credential := range sent {
				for _, r := range misuse(s, credential, hook) {
					fmt.Fprintln(&answers, r.status, r.header, r.raw)
				}
			}
		}
	}
	stores := map[string]string{
		"the log of the gateway": guardedSite.logs.String() + open.logs.String(), "the log of the engine": logs.String(),
		"the database": dump(t, url), "an answer": answers.String(),
	}
	for where, text := range stores {
		for _, secret := range secrets {
			for _, part := range []string{secret, secret[4:47], secret[len(secret)-40:]} {
				if strings.Contains(text, part) {
					t.Fatalf("%s has a credential", where)
				}
			}
		}
	}
	if !strings.Contains(stores["the database"], "key:key_") {
		t.Error("the search does not find what is there")
	}
}

// misuse sends a credential in every way, right and wrong.
func misuse(s *site, credential, hook string) []reply {
	s.t.Helper()
	bearer := "Bearer " + credential
	caller := s.as(credential)
	replies := []reply{
		caller.call("GET", "/v1/runs", ""),
		caller.call("GET", "/v1/runs/known/history", ""),
		caller.call("POST", "/v1/runs/known/signals/any%2Fthing", `1`),
		caller.call("POST", "/callbacks/flow/hooks/"+hook, `{"x":1}`),
		s.call("POST", "/callbacks/flow/hooks", `1`, "Authorization", bearer),
		s.call("POST", "/callbacks/flow/hooks/"+credential, `1`),
		s.call("GET", "/v1/runs", "", "Authorization", bearer+"x"),
		s.call("GET", "/v1/runs", "", "Authorization", "Basic "+credential),
		s.call("GET", "/v1/runs?access_token="+credential, ""),
		caller.call("GET", "/v1/runs?cursor="+credential, ""),
		caller.call("GET", "/v1/runs?"+credential+"=1", ""),
		caller.call("POST", "/v1/hooks/dispose", `{"token":"`+credential+`"}`),
		caller.call("GET", "/v1/runs", "", "X-Request-Id", credential),
		s.exchange(exchangeForm("subject_token", credential, "scope", "none")),
		s.exchange(exchangeForm("subject_token", credential, "resource", publicURL+"/"+credential)),
		s.exchange(exchangeForm("subject_token", credential), "Authorization", bearer),
		s.exchange(exchangeForm("subject_token", credential+"x")),
		s.call("POST", "/v1/token?subject_token="+credential, ""),
		s.one("GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: " + bearer + "\r\nAuthorization: " + bearer + "\r\n\r\n"),
		s.one("GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: " + bearer + "\r\nbroken " + credential + "\r\n\r\n"),
	}
	if strings.HasPrefix(credential, "fge_") {
		replies = append(replies,
			caller.call("GET", "/v1/runs/"+credential, ""),
			caller.call("POST", "/v1/runs", `{"workflow":"test.door","run_id":"`+credential+`"}`),
			caller.call("POST", "/v1/runs", `{"workflow":"test.door","labels":{"key":"`+credential+`"}}`),
			caller.call("POST", "/v1/runs/known/signals/end", `1`, "Idempotency-Key", credential),
			caller.call("POST", "/v1/runs/known/cancel", `{"reason":"`+credential+`"}`),
			caller.call("POST", "/v1/runs", `{"workflow":"test.door","`+credential+`":1}`),
		)
	}
	return replies
}

// What is known of a caller holds no secret.
func TestCredentials_principal_prints_no_secret(t *testing.T) {
	t.Parallel()
	_, c := newGuarded(t)
	_, key := c.key("default", nil, access.RunsRead)
	for _, credential := range []string{key, c.jwt("default", nil), c.exchanged(key, "")} {
		who, err := c.verifier.Verify(t.Context(), credential)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v %#v", who, who); strings.Contains(text, credential[8:30]) {
			t.Errorf("a principal prints its credential: %s", text)
		}
	}
}
