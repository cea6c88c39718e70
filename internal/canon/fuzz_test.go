package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`null`, `-0.10e+2`, `"\ud83d\ude00\u0000"`, `{"b":[1,{"a":"\n"}],"a":1.50}`, `{"a":1,"a":2}`,
		"\xef\xbb\xbf1", "\"\xed\xa0\x80\"", `[[[[]]]] `, `1e400`, `{"":{"":0}}`, ` [true , false,"\/"]`, `{"a"`, `"\ud800"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := canon.Parse(raw, canon.Limits{})
		if err != nil {
			checkRefusal(t, raw, err)
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("accepted, but not JSON: %q", raw)
		}
		canonical := p.Canonical()
		again, err := canon.Parse(canonical, canon.Limits{MaxBytes: 2 * len(canonical)})
		if err != nil || again.Digest() != p.Digest() || !bytes.Equal(again.Canonical(), canonical) {
			t.Fatalf("canonical form of %q is not canonical: %q, %v", raw, canonical, err)
		}
		if !sameValue(decode(t, raw), decode(t, canonical)) {
			t.Fatalf("canonical form of %q has another value: %q", raw, canonical)
		}
	})
}

// checkRefusal allows a refusal of what encoding/json calls valid only for the
// rules that go beyond its grammar.
func checkRefusal(t *testing.T, raw []byte, err error) {
	t.Helper()
	var pe *canon.PayloadError
	if errors.Is(err, canon.ErrPayloadTooLarge) {
		return
	}
	if !errors.As(err, &pe) {
		t.Fatalf("error of another type: %v", err)
	}
	if len(pe.Pointer) > 256 || pe.Pointer != "" && pe.Pointer[0] != '/' {
		t.Fatalf("pointer %q", pe.Pointer)
	}
	grammar := []string{"not valid JSON", "is empty", "more text", "byte order mark", "control character"}
	if json.Valid(raw) && slices.ContainsFunc(grammar, func(s string) bool { return strings.Contains(pe.Rule, s) }) {
		t.Fatalf("refused by grammar (%s at %q), but encoding/json takes it: %q", pe.Rule, pe.Pointer, raw)
	}
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", raw, err)
	}
	return v
}

// sameValue compares as encoding/json and math/big see the values.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && rat(a).Cmp(rat(b)) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	default:
		return a == b
	}
}

func rat(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return big.NewRat(-1, 7)
	}
	return r
}
