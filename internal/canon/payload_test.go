package canon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
)

func mustParse(t *testing.T, text string) canon.Payload {
	t.Helper()
	p, err := canon.Parse([]byte(text), canon.Limits{})
	if err != nil {
		t.Fatalf("Parse(%.80q): %v", text, err)
	}
	return p
}

func TestEqualPayloads(t *testing.T) {
	t.Parallel()
	for _, spellings := range [][]string{
		{`null`, " null\n", "\t\r\nnull "},
		{`1`, `1.0`, `1e0`, `1E+0`, `10e-1`, `0.1e1`, `1.000`, `0.0001e4`},
		{`100`, `1e2`, `1E2`, `100.0`, `0.1e+3`, `1e0002`},
		{`0`, `-0`, `0.0`, `-0.00e5`, `0e-308`, `0.00e308`},
		{`-12.5`, `-125e-1`, `-1.25E1`},
		{`9007199254740993`, `9007199254740993.0`},
		{`1e308`, `1` + strings.Repeat("0", 308)},
		{`1e-308`, `0.` + strings.Repeat("0", 307) + `1`},
		{`"a/é€😀"`, `"a\/\u00e9\u20AC\ud83d\uDE00"`, `"\u0061/é€\uD83D\ude00"`},
		{`"\u001f\n\"\\"`, `"\u001F\u000a\u0022\u005c"`},
		{`"` + "\x7f\u2028\uffff" + `"`, `"\u007f\u2028\uffff"`},
		{`{"a":1,"b":[true,false]}`, `{ "b" : [ true , false ] , "a" : 1.0 }`, `{"\u0062":[true,false],"\u0061":1}`},
		{`{"a":{"c":1,"d":2},"b":0}`, `{"b":0,"a":{"d":2,"c":1}}`},
		{`[]`, `[ ]`},
		{`{}`, "{\n}"},
		{`{"":{"":0}}`, `{ "" : {"" :0 } }`},
	} {
		first := mustParse(t, spellings[0])
		for _, s := range spellings[1:] {
			if p := mustParse(t, s); !canon.Equal(first, p) || p.Digest() != first.Digest() {
				t.Errorf("%.60q and %.60q differ: %.60q, %.60q", spellings[0], s, first.Canonical(), p.Canonical())
			}
		}
	}
}

func TestUnequalPayloads(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{`1`, `"1"`},
		{`0`, `null`},
		{`false`, `null`},
		{`""`, `null`},
		{`[]`, `{}`},
		{`{}`, `{"a":null}`},
		{`[1,2]`, `[2,1]`},
		{`[[1],2]`, `[[1,2]]`},
		{`1`, `-1`},
		{`9007199254740992`, `9007199254740993`},
		{`0.1`, `0.1000000000000000055511151231257827`},
		{`1e308`, `1e307`},
		{`12`, `1e2`},
		{`"é"`, `"e` + "\u0301" + `"`},
		{`"a"`, `"A"`},
		{`{"a":1}`, `{"A":1}`},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`},
		{`"\\n"`, `"\n"`},
	} {
		if a, b := mustParse(t, pair[0]), mustParse(t, pair[1]); canon.Equal(a, b) {
			t.Errorf("%q and %q are equal: %q, %q", pair[0], pair[1], a.Canonical(), b.Canonical())
		}
	}
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` { "b" : 1.50 , "a" : [ 100 , -0.0 ] } `:   `{"a":[1e2,0],"b":15e-1}`,
		`{"é":1,"z":2,"\ud83d\ude00":3,"\ue000":4}`: `{"z":2,"é":1,"` + "\ue000" + `":4,"😀":3}`,
		`"\u0008\u000c\u000a\u000d\u0009\u001F"`:    `"\b\f\n\r\t\u001f"`,
		`{"a\nb":1,"a\"":2,"a":3}`:                  `{"a":3,"a\nb":1,"a\"":2}`,
		`123456789012345678901234567890`:            `12345678901234567890123456789e1`,
	} {
		if got := string(mustParse(t, text).Canonical()); got != want {
			t.Errorf("canonical form of %q is %q, want %q", text, got, want)
		}
	}
}

// The digest is stored, so its value may never drift. The figure was computed
// with another program.
func TestDigestIsSHA256OfCanonicalForm(t *testing.T) {
	t.Parallel()
	const want = "ee1c8f3f10dca2e1d250622dae4dbbd12f0c7559452dd3e6c9a22260f3781e3d"
	if got := mustParse(t, `{"b":1.50,"a":[100,"\u00e9"]}`).Digest().String(); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

func TestAbsentIsNotNull(t *testing.T) {
	t.Parallel()
	var absent canon.Payload
	null := mustParse(t, `null`)
	if !absent.IsZero() || null.IsZero() || canon.Equal(absent, null) || !canon.Equal(absent, canon.Payload{}) {
		t.Error("the zero payload must be absent and equal only to itself")
	}
	if absent.Bytes() != nil || absent.Canonical() != nil || absent.Digest() != (canon.Digest{}) {
		t.Error("the absent payload has bytes or a digest")
	}
}

func TestBytesAreKeptAsReceived(t *testing.T) {
	t.Parallel()
	raw := []byte(` {"b":1.0, "a":"\u0061"} `)
	want := string(raw)
	p := mustParse(t, want)
	q, err := canon.Parse(raw, canon.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	raw[2] = 'x'
	if string(p.Bytes()) != want || string(q.Bytes()) != want {
		t.Errorf("bytes are %q, want %q", q.Bytes(), want)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `{"b":1,"a":2}`)
	r := canon.Restore(p.Bytes(), p.Digest())
	if !canon.Equal(p, r) || string(r.Canonical()) != `{"a":2,"b":1}` {
		t.Errorf("restored payload differs: %q", r.Canonical())
	}
	if !canon.Restore([]byte{}, canon.Digest{}).IsZero() {
		t.Error("no bytes must restore the absent payload")
	}
	if canon.Equal(canon.Restore([]byte(`1`), canon.Digest{}), canon.Payload{}) {
		t.Error("a payload without its digest equals the absent one")
	}
	if canon.Restore([]byte(`{"a":`), canon.Digest{}).Canonical() != nil {
		t.Error("broken bytes have a canonical form")
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	p, err := canon.Marshal(map[string]any{"html": "<&>", "n": json.Number("1.50")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.Bytes()), `{"html":"<&>","n":1.50}`; got != want {
		t.Errorf("encoded %s, want %s", got, want)
	}
	if big, err := canon.Marshal(strings.Repeat("x", 1<<20)); err != nil || len(big.Bytes()) != 1<<20+2 {
		t.Errorf("a value of 1 MiB made by code is refused: %v", err)
	}
	var pe *canon.PayloadError
	if _, err := canon.Marshal("a\x00b"); !errors.As(err, &pe) {
		t.Errorf("NUL from code: %v", err)
	}
	if _, err := canon.Marshal(json.RawMessage(`{"a":1,"a":2}`)); !errors.As(err, &pe) {
		t.Errorf("duplicate key from code: %v", err)
	}
	if _, err := canon.Marshal(strings.Repeat("x", 5<<20)); !errors.Is(err, canon.ErrPayloadTooLarge) {
		t.Errorf("5 MiB from code: %v", err)
	}
	if _, err := canon.Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestPrintingHidesThePayload(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `"secret"`)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(verb, p); !strings.Contains(got, "payload(8 bytes)") {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

func TestDigestText(t *testing.T) {
	t.Parallel()
	d := mustParse(t, `1`).Digest()
	text, err := d.MarshalText()
	if err != nil || string(text) != d.String() {
		t.Fatalf("MarshalText: %s, %v", text, err)
	}
	var back canon.Digest
	if err := back.UnmarshalText(text); err != nil || back != d {
		t.Errorf("UnmarshalText: %s, %v", back, err)
	}
	if b, err := canon.FromBytes(d[:]); err != nil || b != d {
		t.Errorf("FromBytes: %s, %v", b, err)
	}
	for _, bad := range []string{"", string(text[1:]), string(text) + "0", "zz" + string(text[2:])} {
		if err := back.UnmarshalText([]byte(bad)); err == nil || back != d {
			t.Errorf("UnmarshalText(%q) = %v, digest now %s", bad, err, back)
		}
	}
	if _, err := canon.FromBytes(d[:31]); err == nil {
		t.Error("FromBytes took 31 bytes")
	}
}
