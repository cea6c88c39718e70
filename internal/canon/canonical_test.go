package canon

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Each text with whether it is known to be its own canonical form.
var known = map[string]bool{
	`0`: true, `-7`: true, `12`: true, `"x"`: true, `"é/"`: true, `null`: true, `true`: true, `false`: true, `{}`: true, `[]`: true,
	`{"":1}`: true, `{"":1,"a":2}`: true, `{"a":1,"b":[1,{},[]],"c":{"d":"e"}}`: true, `[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]`: true,
	`-0`: false, `10`: false, `100`: false, `01`: false, `1.5`: false, `15e-1`: false, `1e2`: false, `-`: false, ``: false, ` 1`: false,
	`1 `: false, `"\n"`: false, "\"\n\"": false, "\"\xff\"": false, `"x`: false, `nul`: false, `nullx`: false, `{"a":1,"a":2}`: false,
	`{"b":1,"a":2}`: false, `{"a":1,}`: false, `{"a"}`: false, `{"a":}`: false, `{a:1}`: false, `[1,]`: false, `[1`: false, `[1}`: false,
	`{"a":1]`: false, `[,1]`: false, `[]]`: false, `{}{}`: false, `[1 ,2]`: false, `{"a": 1}`: false, `{`: false, `[`: false,
	"\xef\xbb\xbf1": false, `[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]`: false, `[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]`: true,
}

func TestIsCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range known {
		if got := isCanonical([]byte(text), 64); got != want {
			t.Errorf("%s: %v", text, got)
		}
		sameAsCanonicalize(t, []byte(text), 64)
	}
}

// sameAsCanonicalize: what is known to be canonical is, by the judge of that.
func sameAsCanonicalize(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, raw []byte, maxDepth int,
) bool {
	t.Helper()
	if !isCanonical(raw, maxDepth) {
		return false
	}
	if canonical, err := canonicalize(raw, maxDepth); err != nil || !bytes.Equal(canonical, raw) {
		t.Fatalf("%q is said to be canonical at depth %d; it is %q, %v", raw, maxDepth, canonical, err)
	}
	return true
}

// anyJSON draws texts of JSON that are nearly canonical.
func anyJSON(depth int) *rapid.Generator[string] {
	scalar := rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,4}`), rapid.StringMatching(`"[a-c"\\\n]{0,3}"`),
		rapid.SampledFrom([]string{"null", "true", "false", "[]", "{}", "1.5", "1e2", "-0", "", " 1"}),
	)
	if depth == 0 {
		return scalar
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(scalar, rapid.Custom(func(t *rapid.T) string {
		object, out, next := rapid.Bool().Draw(t, "object"), "", 'a'
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			if i > 0 {
				out += ","
			}
			if object {
				next += rune(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 0, -1}).Draw(t, "step"))
				out += `"` + string(next) + `":`
			}
			out += inner.Draw(t, "value")
		}
		if object {
			return "{" + out + "}"
		}
		return "[" + out + "]"
	}))
}

func TestIsCanonical_agrees_with_canonicalize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(anyJSON(3).Draw(t, "json"))
		maxDepth := rapid.IntRange(1, 5).Draw(t, "depth")
		sameAsCanonicalize(t, raw, maxDepth)
		// A canonical form without points, escapes and exponents is known for what it is.
		canonical, err := canonicalize(raw, maxDepth)
		if err == nil && !bytes.ContainsAny(withoutWords(canonical), `\e`) && !isCanonical(canonical, maxDepth) {
			t.Fatalf("%s is canonical, and not known to be", canonical)
		}
	})
}

// withoutWords leaves an e only where a number has one: keys may be letters, too, but then the form is not looked at.
func withoutWords(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("true"), nil), []byte("false"), nil)
}

func FuzzIsCanonical(f *testing.F) {
	for text := range known {
		f.Add([]byte(text), 64)
	}
	f.Fuzz(func(t *testing.T, raw []byte, maxDepth int) {
		if maxDepth > 0 {
			sameAsCanonicalize(t, raw, maxDepth)
		}
	})
}
