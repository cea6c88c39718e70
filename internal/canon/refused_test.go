package canon_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// The rules in the words senders see.
const (
	syntax    = "the payload is not valid JSON (RFC 8259)"
	empty     = "the payload is empty; send null for no value"
	trailing  = "the payload has more text after its JSON value"
	bom       = "the payload starts with a byte order mark"
	notUTF8   = "the payload is not valid UTF-8"
	control   = "a string has an unescaped control character"
	nul       = "a string has a NUL character"
	surrogate = "a string has a lone surrogate"
	duplicate = "an object has the same key twice"
	literal   = "a number is longer than 1024 bytes"
	digits    = "a number has more than 128 significant digits"
	exponent  = "a number's decimal exponent is outside -308 to 308"
	depth     = "the payload is nested deeper than 64"
)

var refused = []struct{ text, pointer, rule string }{
	{``, "", empty},
	{" \n", "", empty},
	{"\xef\xbb\xbf{}", "", bom},
	{"\ufeff", "", bom},
	{"\xff\xfe{\x00}\x00", "", syntax},
	{`nul`, "", syntax},
	{`nullx`, "", trailing},
	{`NaN`, "", syntax},
	{`'a'`, "", syntax},
	{`{} {}`, "", trailing},
	{`{}]`, "", trailing},
	{"1\x00", "", trailing},
	{"null\x0b", "", trailing},
	{`[1,]`, "/1", syntax},
	{`[,1]`, "/0", syntax},
	{`[1 2]`, "/0", syntax},
	{`[1}`, "/0", syntax},
	{`[`, "/0", syntax},
	{`{`, "", syntax},
	{`{"a"`, "/a", syntax},
	{`{"a":`, "/a", syntax},
	{`{"a":1,}`, "", syntax},
	{`{"a":1,"b"}`, "/b", syntax},
	{`{a:1}`, "", syntax},
	{`{1:1}`, "", syntax},
	{`{"a":1]`, "/a", syntax},
	{`// no`, "", syntax},
	{`"a`, "", syntax},
	{`"a\`, "", syntax},
	{`"\x41"`, "", syntax},
	{`"\u00g0"`, "", syntax},
	{`"\u12`, "", syntax},
	{"\"a\nb\"", "", control},
	{"\"\x1f\"", "", control},
	{"\"a\x00\"", "", nul},
	{`"\u0000"`, "", nul},
	{`{"k":{"\u0000":1}}`, "/k", nul},
	{`["\ud800"]`, "/0", surrogate},
	{`"\ud800x"`, "", surrogate},
	{`"\ud800\u0041"`, "", surrogate},
	{`"\ud800\ud800"`, "", surrogate},
	{`"\udc00\ud800"`, "", surrogate},
	{`{"\udfff":1}`, "", surrogate},
	{"\"\xff\"", "", notUTF8},
	{"\"\xc0\x80\"", "", notUTF8},
	{"\"\xed\xa0\x80\"", "", notUTF8},
	{"\"\xf4\x90\x80\x80\"", "", notUTF8},
	{"{\"\xe2\x82\":1}", "", notUTF8},
	{`{"a":1,"a":2}`, "/a", duplicate},
	{`{"b":0,"a":1,"\u0061":1}`, "/a", duplicate},
	{`[0,{"x/y~":{"":1,"":1}}]`, "/1/x~1y~0/", duplicate},
	{`01`, "", syntax},
	{`-01`, "", syntax},
	{`+1`, "", syntax},
	{`-`, "", syntax},
	{`.5`, "", syntax},
	{`1.`, "", syntax},
	{`1e`, "", syntax},
	{`1e+`, "", syntax},
	{`0x1`, "", trailing},
	{`1.5.5`, "", trailing},
	{`[1e309]`, "/0", exponent},
	{`1e-309`, "", exponent},
	{`10e308`, "", exponent},
	{`0e309`, "", exponent},
	{`-0.0e-99999999999999999999`, "", exponent},
	{`0.1e-308`, "", exponent},
	{`1e99999999999999999999`, "", exponent},
	{`1` + strings.Repeat("0", 309), "", exponent},
	{strings.Repeat("1", 129), "", digits},
	{`0.` + strings.Repeat("1", 129), "", digits},
	{strings.Repeat("1", 10_000), "", literal},
	{`0.` + strings.Repeat("0", 1023), "", literal},
	{strings.Repeat("[", 65), strings.Repeat("/0", 64), depth},
	{strings.Repeat(`{"":`, 65), strings.Repeat("/", 64), depth},
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range refused {
		_, err := canon.Parse([]byte(c.text), canon.Limits{})
		var pe *canon.PayloadError
		if !errors.As(err, &pe) {
			t.Errorf("Parse(%.60q): %v, want %q", c.text, err, c.rule)
			continue
		}
		if pe.Pointer != c.pointer || pe.Rule != c.rule {
			t.Errorf("Parse(%.60q): %q at %q, want %q at %q", c.text, pe.Rule, pe.Pointer, c.rule, c.pointer)
		}
	}
}

func TestEdgesThatPass(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("[", 64) + "1" + strings.Repeat("]", 64),
		strings.Repeat(`{"a":`, 63) + "[]" + strings.Repeat("}", 63),
		strings.Repeat("9", 128),
		`0.` + strings.Repeat("0", 200) + strings.Repeat("9", 108),
		`0.` + strings.Repeat("0", 1022),
		`9.99e308`,
		`1e-308`,
		`0.0001e312`,
		`{"a":{"a":1},"b":{"a":1}}`,
		`"\ud83d\ude00\uffff"`,
	} {
		mustParse(t, text)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	atLimit := `"` + strings.Repeat("x", 256<<10-2) + `"`
	mustParse(t, atLimit)
	_, err := canon.Parse([]byte(atLimit+" "), canon.Limits{})
	var se *canon.SizeError
	if !errors.Is(err, canon.ErrPayloadTooLarge) || !errors.As(err, &se) || se.Size != 256<<10+1 || se.Limit != 256<<10 {
		t.Errorf("one byte over the limit: %v", err)
	}
	if _, err := canon.Parse([]byte(`[[1]]`), canon.Limits{MaxBytes: 5, MaxDepth: 2}); err != nil {
		t.Errorf("at both limits: %v", err)
	}
	if _, err := canon.Parse([]byte(`[[1]]`), canon.Limits{MaxBytes: 4}); !errors.Is(err, canon.ErrPayloadTooLarge) {
		t.Errorf("over four bytes: %v", err)
	}
	var pe *canon.PayloadError
	_, err = canon.Parse([]byte(`[[1]]`), canon.Limits{MaxDepth: 1})
	if !errors.As(err, &pe) || pe.Rule != "the payload is nested deeper than 1" {
		t.Errorf("over depth one: %v", err)
	}
}

func TestErrorsDoNotCarryThePayload(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s3cr3t/~é", 100)
	_, err := canon.Parse([]byte(`{"`+secret+`":[0,{"s3cr3t":1,"s3cr3t":2}]}`), canon.Limits{})
	var pe *canon.PayloadError
	if !errors.As(err, &pe) {
		t.Fatal(err)
	}
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error shows a key: %v", err)
	}
	if len(pe.Pointer) > 256 || len(pe.Pointer) < 250 || !strings.HasPrefix(pe.Pointer, "/s3cr3t~1~0é") {
		t.Errorf("the pointer has %d bytes: %q", len(pe.Pointer), pe.Pointer)
	}
}
