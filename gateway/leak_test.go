package gateway

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// 65, C67: no token that was ever used, well or badly, is found in a log, in the database or in any answer but the one
// that is asked for it; and no payload is found in a log or in a refusal.
func TestC67_tokens_and_payloads_are_searched_for(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	logs := &logBuffer{}
	eng := engineOn(t, url, func(c *engine.Config) { c.Logger = zerolog.New(logs) })
	s := serveOn(t, eng, nil)
	closed := serveOn(t, eng, func(c *Config) { c.OpenAPI = false })
	admin := adminOf(t, eng, nil)

	const n = 200
	const mark = "MARKED-PAYLOAD-7f3a"
	var secrets []string
	var answers strings.Builder
	for i := range n {
		run := fmt.Sprint("r", i)
		token := s.open(run, doorInput{Hook: "soft", Stay: i%2 == 0})
		secrets = append(secrets, token)
		for _, r := range abuse(t, s, closed, token, i, mark) {
			fmt.Fprintln(&answers, r.status, r.header, r.raw)
		}
		answers.WriteString(probe(t, admin, token))
	}
	for _, path := range []string{"/v1/runs?limit=200", "/v1/hooks?limit=200", "/v1/runs/r0", "/v1/runs/r0/history", "/v1/runs/r0/hooks", "/v1/runs/r0/hooks/h"} {
		fmt.Fprintln(&answers, strings.ReplaceAll(s.call("GET", path, "").raw, mark, ""))
	}
	stores := map[string]string{
		"the log of the gateway": s.logs.String() + closed.logs.String(),
		"the log of the engine":  logs.String(),
		"the database":           dump(t, url),
		"an answer":              answers.String(),
	}
	for where, text := range stores {
		if strings.Contains(text, mark) && where != "the database" {
			t.Errorf("%s has a payload", where)
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) || strings.Contains(text, secret[4:47]) {
				t.Fatalf("%s has a token", where)
			}
		}
	}
	if !strings.Contains(stores["the database"], mark) {
		t.Error("the search does not find what is there")
	}
}

// abuse uses a token in every way, right and wrong.
func abuse(t *testing.T, s, closed *site, token string, i int, mark string) []reply {
	t.Helper()
	path := "/callbacks/flow/hooks/" + token
	payload := fmt.Sprintf(`{"mark":%q}`, mark)
	replies := []reply{
		s.call("GET", path, ""),
		s.call("GET", path+"/", ""),
		s.call("POST", path+"0", payload),
		s.call("POST", "/nothing/"+token, payload),
		s.call("POST", "/callbacks/flow/hooks?token="+token, payload),
		s.call("POST", path, payload+"x"),
		s.call("POST", path, payload, "Content-Type", "text/plain"),
		s.call("GET", "/v1/runs/"+token, ""),
		s.call("GET", "/v1/runs?cursor="+token, ""),
		s.call("GET", "/v1/runs?status="+token, ""),
		s.call("POST", "/v1/hooks/dispose", `{"token":"`+token+`x"}`),
		s.call("POST", "/v1/runs/nobody/signals/"+token, payload),
		closed.call("GET", "/v1/runs", "", "Authorization", "Bearer "+token),
		s.call("POST", path, payload, "X-Request-Id", token),
		s.call("POST", path, payload),
		s.call("POST", path, `{"mark":"another"}`),
		s.call("DELETE", path, ""),
		s.call("GET", "/v1/runs?"+token+"=1", ""),
		s.call("POST", "/v1/runs", `{"workflow":"test.door","`+token+`":1}`),
		s.call("POST", "/v1/runs", `{"workflow":"test.door","run_id":"`+token+`"}`),
		s.call("POST", "/v1/runs", `{"workflow":"test.door","labels":{"link":"https://gate/`+token+`"}}`),
		s.call("POST", "/v1/runs/"+fmt.Sprint("r", i)+"/cancel", `{"reason":"`+token+`"}`),
		s.call("POST", "/v1/runs/"+fmt.Sprint("r", i)+"/signals/end", payload, "Idempotency-Key", token),
		s.call("POST", path, `{"a":{"`+token+`":"\u0000"}}`),
	}
	if i%20 == 0 {
		replies = append(replies,
			s.one("POST "+path+" HTTP/9.9\r\nHost: a\r\n\r\n"),
			s.one("POST /"+token+" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+token+"\r\nbroken "+token+"\r\n\r\n"),
			s.one("BREW "+path+" HTTP/1.1\r\nHost: "+token+"\r\n\r\n"),
		)
	}
	return replies
}

// probe asks the admin listener with a token, in spellings of a path that a mux would correct, and returns the answers.
func probe(t *testing.T, a adminSite, token string) string {
	t.Helper()
	var answers strings.Builder
	once := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/", "//", "/x/../", "/livez/", "/livez?"} {
		res, err := once.Get(a.base + path + token)
		if err != nil {
			t.Fatal(err)
		}
		r, err := readReply(res)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&answers, r.status, r.header, r.raw)
	}
	return answers.String()
}

// dump is the text of every row of every table.
func dump(t *testing.T, url string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
		WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		rows, err := conn.Query(t.Context(), "SELECT t::text || coalesce(row_to_json(t)::text, '') FROM "+table+" t")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			all.WriteString(line + decodeHex(line))
		}
	}
	return all.String()
}

var hexBytes = regexp.MustCompile(`\\x((?:[0-9a-f]{2})+)`)

// decodeHex returns the text of the byte columns in a line.
func decodeHex(line string) string {
	var out strings.Builder
	for _, match := range hexBytes.FindAllStringSubmatch(line, -1) {
		if raw, err := hex.DecodeString(match[1]); err == nil {
			out.Write(raw)
		}
	}
	return out.String()
}
