package gateway

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
)

// 38, 39: what is not a JSON value that can be kept and compared is refused by every route that takes a payload, and
// leaves no trace.
func TestPayload_that_is_no_JSON_value(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	for name, payload := range map[string]string{
		"empty":                "",
		"spaces":               "  ",
		"word":                 "approve",
		"truncated":            `{"a":`,
		"trailing text":        `{} x`,
		"two values":           `1 2`,
		"trailing comma":       `[1,]`,
		"comment":              `{/**/}`,
		"single quotes":        `{'a':1}`,
		"NaN":                  `NaN`,
		"38 duplicate keys":    `{"a":1,"a":2}`,
		"38 nested duplicate":  `[{"a":{"b":1,"\u0062":2}}]`,
		"38 NUL":               `"\u0000"`,
		"38 lone surrogate":    `"\ud800"`,
		"38 byte order mark":   "\uFEFF1",
		"38 bad UTF-8":         "\"\xc3\x28\"",
		"38 control character": "\"\x01\"",
		"39 too deep":          strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"39 far too deep":      strings.Repeat("[", 100_000),
		"39 too big a number":  `1e400`,
		"39 too long a number": strings.Repeat("1", 10_000),
	} {
		for _, r := range []reply{
			s.answer(token, payload),
			s.signal("r", "any%2Fthing", "k", payload),
			s.call("POST", "/v1/runs/r/hooks/h/resume", payload),
			s.call("POST", "/v1/runs/r/queries/do", payload),
		} {
			t.Run(name, func(t *testing.T) {
				checkProblem(t, r, 400, "malformed-payload")
				if violations, _ := r.field("violations").([]any); len(violations) != 1 {
					t.Errorf("no violation is named: %s", r.raw)
				}
			})
		}
	}
	deepest := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	checkAccepted(t, s.signal("r", "any%2Fthing", "k", deepest))
	checkAccepted(t, s.answer(token, strings.Repeat("1", 128)))
}

// 39: refusing costs about as much as reading.
func TestPayload_39_hostile_numbers_cost_nothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	began := time.Now()
	for range 50 {
		checkProblem(t, s.signal("r", "end", "k", "["+strings.Repeat("1e999999999,", 20_000)+"1]"), 400, "malformed-payload")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("50 refusals took %s", took)
	}
}

// 28: equality is that of JSON values.
func TestPayload_28_spelling_does_not_matter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	first := s.answer(token, `{"a":[1,2.50,"ü"],"b":{"c":null,"d":12345678901234567890}}`)
	checkAccepted(t, first)
	for _, same := range []string{
		`{"b":{"d":12345678901234567890,"c":null},"a":[1,2.50,"ü"]}`,
		" {\n\"a\" : [ 1.0 , 2.5, \"\\u00fc\" ], \"b\":{\"c\":null,\"d\":1234567890123456789e1}} ",
		`{"a":[1e0,25e-1,"ü"],"b":{"c":null,"d":12345678901234567890.0}}`,
	} {
		checkDuplicate(t, s.answer(token, same), first)
	}
	for _, other := range []string{
		`{"a":["1",2.50,"ü"],"b":{"c":null,"d":12345678901234567890}}`,
		`{"a":[1,2.50,"ü"],"b":{"c":null,"d":12345678901234567891}}`,
		`{"a":[2.50,1,"ü"],"b":{"c":null,"d":12345678901234567890}}`,
		`{"a":[1,2.50,"ü"],"b":{"d":12345678901234567890}}`,
		`{"a":[1,2.50,"u\u0308"],"b":{"c":null,"d":12345678901234567890}}`,
	} {
		checkDiffers(t, s.answer(token, other), "hook-payload-conflict", "payload")
	}
}

// 12: the limit itself is allowed, and neither route nor framing changes where it is.
func TestPayload_12_size_limit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	sized := func(n int) string { return `"` + strings.Repeat("a", n-2) + `"` }

	checkProblem(t, s.answer(token, sized(DefaultMaxBody+1)), 413, "payload-too-large")
	checkProblem(t, s.answer(token, sized(DefaultMaxBody+2)), 413, "payload-too-large")
	checkAccepted(t, s.signal("r", "any%2Fthing", "one-less", sized(DefaultMaxBody-1)))
	checkAccepted(t, s.answer(token, sized(DefaultMaxBody)))
}

func TestPayload_12_a_lower_limit_is_exact(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.MaxBody = 100 })
	s.start("r", doorInput{})
	sized := func(n int) string { return `"` + strings.Repeat("a", n-2) + `"` }
	checkAccepted(t, s.signal("r", "any%2Fthing", "k", sized(100)))
	for _, n := range []int{101, 102, 500} {
		checkProblem(t, s.signal("r", "any%2Fthing", "l", sized(n)), 413, "payload-too-large")
	}
}

// 14: nothing is decompressed, whatever it would hold.
func TestPayload_14_encodings_are_refused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	path := "/callbacks/flow/hooks/" + token

	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range 100 {
		if _, err := zip.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	checkProblem(t, s.call("POST", path, bomb.String(), "Content-Encoding", "gzip"), 415, "unsupported-media-type")
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "identity", "unknown"} {
		checkProblem(t, s.call("POST", path, `1`, "Content-Encoding", coding), 415, "unsupported-media-type")
	}
	if state := s.hookState("r"); state != "active" {
		t.Errorf("the hook is %s", state)
	}
}

func TestPayload_media_types(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	path := "/callbacks/flow/hooks/" + token
	for _, refused := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "multipart/form-data; boundary=x"} {
		checkProblem(t, s.call("POST", path, `1`, "Content-Type", refused), 415, "unsupported-media-type")
		checkProblem(t, s.call("POST", "/v1/runs", `{}`, "Content-Type", refused), 415, "unsupported-media-type")
	}
	checkAccepted(t, s.call("POST", path, `1`))
	for _, taken := range []string{"application/json", "application/cloudevents+json; charset=utf-8"} {
		if r := s.call("POST", path, `1`, "Content-Type", taken); r.text("verdict") != "duplicate" {
			t.Errorf("%s: got %d %s", taken, r.status, r.raw)
		}
	}
}

// C68, X08: a body that is not what the route takes never answers a hook with an empty value.
func TestC68_wrong_bodies_leave_the_hook_open(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "strict"})
	path := "/callbacks/flow/hooks/" + token
	for _, tc := range []struct {
		body, contentType string
		status            int
	}{
		{`{"output":{"decision":"approve"}}`, "application/json", 422},
		{``, "application/json", 400},
		{`approve`, "text/plain", 415},
		{`{"decision":"appr`, "application/json", 400},
		{`["approve"]`, "application/json", 422},
		{`{"decision":"approve","decision":"reject"}`, "application/json", 400},
		{`decision=approve`, "application/x-www-form-urlencoded", 415},
		{`decision=approve`, "application/json", 400},
	} {
		if r := s.call("POST", path, tc.body, "Content-Type", tc.contentType); r.status != tc.status {
			t.Errorf("%q as %s: got %d, want %d", tc.body, tc.contentType, r.status, tc.status)
		}
	}
	if state := s.hookState("r"); state != "active" {
		t.Errorf("the hook is %s", state)
	}
}

func TestX08_a_body_that_is_not_JSON_answers_nothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	checkProblem(t, s.answer(token, `approved`), 400, "malformed-payload")
	if state := s.hookState("r"); state != "active" {
		t.Errorf("the hook is %s", state)
	}
}

// X14: a payload is delivered untouched, also with our own words in it.
func TestX14_reserved_words_are_just_payload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	const payload = `{"token":"a","namespace":"b","run_id":"c","hook_id":"d","signal_id":"e","idempotency_key":"f","workflow":"g","verdict":"h","outcome":"i","receipt":{},"request_id":"k","actor":"cfo","input":1,"labels":[],"_method":"PUT"}`
	checkAccepted(t, s.answer(token, payload))
	s.awaitStatus("r", "completed")
	if r := s.call("GET", "/v1/runs/r", ""); !strings.Contains(r.raw, `"output":`+payload) {
		t.Errorf("the payload was changed: %s", r.raw)
	}
}
