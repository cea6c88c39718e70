package gateway

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadEnvelope(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body  string
		code  string // empty: read
		place string
	}{
		"empty body":            {body: ``},
		"empty object":          {body: ` { } `},
		"known fields":          {body: `{"run_id":"a","input":{"x":[1,2]}}`},
		"not an object":         {body: `[]`, code: "malformed-payload"},
		"null":                  {body: `null`, code: "malformed-payload"},
		"byte order mark":       {body: "\uFEFF{}", code: "malformed-payload"},
		"truncated":             {body: `{"run_id":"a"`, code: "malformed-payload"},
		"trailing text":         {body: `{} {}`, code: "malformed-payload"},
		"trailing comma":        {body: `{"run_id":"a",}`, code: "malformed-payload"},
		"the same key twice":    {body: `{"run_id":"a","run_id":"a"}`, code: "malformed-payload"},
		"twice by escape":       {body: `{"run_id":"a","run\u005fid":"a"}`, code: "malformed-payload"},
		"not UTF-8":             {body: "{\"run_id\":\"\xff\"}", code: "malformed-payload"},
		"unknown field":         {body: `{"output":1}`, code: "invalid-argument", place: "/output"},
		"unknown field escaped": {body: `{"a/b~":1}`, code: "invalid-argument", place: "/a~1b~0"},
		"other case":            {body: `{"Run_ID":"a"}`, code: "invalid-argument", place: "/Run_ID"},
		"long unknown field":    {body: `{"` + strings.Repeat("a", 300) + `":1}`, code: "invalid-argument", place: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readEnvelope([]byte(tc.body), "run_id", "input")
			checkRefused(t, err, tc.code, tc.place)
		})
	}
}

func TestEnvelope_fields(t *testing.T) {
	t.Parallel()
	name := func(e envelope) error { _, err := e.name("run_id"); return err }
	labels := func(e envelope) error { _, err := e.labels("labels"); return err }
	for title, tc := range map[string]struct {
		body  string
		read  func(envelope) error
		code  string
		place string
	}{
		"name absent":             {body: `{}`, read: name},
		"name":                    {body: `{"run_id":"a/b::ü"}`, read: name},
		"replacement character":   {body: `{"run_id":"\ufffd�"}`, read: name},
		"surrogate pair":          {body: `{"run_id":"\ud83d\ude00"}`, read: name},
		"name empty":              {body: `{"run_id":""}`, read: name, code: "invalid-argument", place: "/run_id"},
		"name null":               {body: `{"run_id":null}`, read: name, code: "invalid-argument", place: "/run_id"},
		"name of another kind":    {body: `{"run_id":7}`, read: name, code: "invalid-argument", place: "/run_id"},
		"name too long":           {body: `{"run_id":"` + strings.Repeat("a", 256) + `"}`, read: name, code: "invalid-argument", place: "/run_id"},
		"name with NUL":           {body: `{"run_id":"a\u0000"}`, read: name, code: "invalid-argument", place: "/run_id"},
		"name with a half pair":   {body: `{"run_id":"\ud83d"}`, read: name, code: "malformed-payload", place: "/run_id"},
		"half pair after escapes": {body: `{"run_id":"\\ufffd\ud83d"}`, read: name, code: "malformed-payload", place: "/run_id"},
		"labels":                  {body: `{"labels":{"team":"a","x/y":""}}`, read: labels},
		"labels not an object":    {body: `{"labels":["a"]}`, read: labels, code: "malformed-payload", place: "/labels"},
		"labels null":             {body: `{"labels":null}`, read: labels, code: "malformed-payload", place: "/labels"},
		"a label twice":           {body: `{"labels":{"a":"1","a":"2"}}`, read: labels, code: "malformed-payload", place: "/labels"},
		"a label of another kind": {body: `{"labels":{"x/y":1}}`, read: labels, code: "invalid-argument", place: "/labels/x~1y"},
		"a bad label key":         {body: `{"labels":{"A":"1"}}`, read: labels, code: "invalid-argument", place: "/labels"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			e, err := readEnvelope([]byte(tc.body), "run_id", "labels")
			if err == nil {
				err = tc.read(e)
			}
			checkRefused(t, err, tc.code, tc.place)
		})
	}
}

func TestReadEnvelope_keeps_payloads_as_received(t *testing.T) {
	t.Parallel()
	const input = `{"b":1.0, "a" : 12345678901234567890,"a":"\u001b"}`
	e, err := readEnvelope([]byte(`{"input": `+input+` }`), "input")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e["input"]); got != input {
		t.Errorf("got %s, want %s", got, input)
	}
}

// Whatever the bytes, an envelope is read or refused as one of two problems.
func TestReadEnvelope_is_total(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(rapid.StringMatching(`[\{\}\[\]",:a-c0-2 \\u\x00-\x02]{0,24}`).Draw(t, "body"))
		e, err := readEnvelope(body, "a")
		if err == nil {
			_, err = e.name("a")
		}
		if err == nil {
			return
		}
		if p := translate(err).problem; p != malformedPayload && p != invalidArgument {
			t.Fatalf("%q: got %s", body, p.code)
		}
	})
}

func checkRefused(t *testing.T, err error, code, place string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Fatalf("refused: %+v", translate(err))
		}
		return
	}
	if err == nil {
		t.Fatalf("read, want %s", code)
	}
	got := translate(err)
	if got.problem.code != code {
		t.Fatalf("got %s, want %s", got.problem.code, code)
	}
	if len(got.violations) != 1 || got.violations[0].FieldPath != place {
		t.Errorf("got violations %+v, want one at %q", got.violations, place)
	}
}
