package canon_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/canon"
)

func parseSpelling(t *rapid.T, v any) canon.Payload {
	t.Helper()
	text := spell(t, v)
	p, err := canon.Parse([]byte(text), canon.Limits{})
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return p
}

func TestEverySpellingHasOneDigest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(4).Draw(t, "value")
		a, b := parseSpelling(t, v), parseSpelling(t, v)
		if a.Digest() != b.Digest() || string(a.Canonical()) != string(b.Canonical()) {
			t.Fatalf("%q and %q differ: %q, %q", a.Bytes(), b.Bytes(), a.Canonical(), b.Canonical())
		}
		again, err := canon.Parse(a.Canonical(), canon.Limits{})
		if err != nil || again.Digest() != a.Digest() || string(again.Canonical()) != string(a.Canonical()) {
			t.Fatalf("canonical form of %q is not canonical: %q, %v", a.Bytes(), a.Canonical(), err)
		}
	})
}

func TestEveryChangeChangesTheDigest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(4).Draw(t, "value")
		w := change(t, v)
		a, b := parseSpelling(t, v), parseSpelling(t, w)
		if same := reflect.DeepEqual(v, w); canon.Equal(a, b) != same {
			t.Fatalf("%q and %q: equal is %t, want %t", a.Bytes(), b.Bytes(), !same, same)
		}
	})
}

// change returns v with one small difference somewhere inside. Now and then the
// change is none, which the caller finds out.
func change(t *rapid.T, v any) any {
	switch v := v.(type) {
	case number:
		return changeNumber(t, v)
	case string:
		return rapid.SampledFrom([]any{v + "a", "a" + v, v + "\u0301", []any{v}, nil}).Draw(t, "text")
	case []any:
		return changeArray(t, v)
	case object:
		return changeObject(t, v)
	default:
		return rapid.SampledFrom([]any{true, false, "null", "", []any{}, object{}, nil}).Draw(t, "scalar")
	}
}

func changeNumber(t *rapid.T, n number) any {
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		return number{!n.neg && n.coef != "0", n.coef, n.exp}
	case 1:
		if n.coef == "0" {
			return number{coef: "1"}
		}
		return number{n.neg, n.coef, n.exp + 1}
	case 2:
		return number{n.neg, "1" + n.coef[:len(n.coef)-1] + "3", n.exp}
	default:
		return n.coef
	}
}

func changeArray(t *rapid.T, v []any) any {
	if len(v) == 0 {
		return rapid.SampledFrom([]any{[]any{nil}, object{}, []any{[]any{}}}).Draw(t, "array")
	}
	i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
	w := slices.Clone(v)
	switch rapid.IntRange(0, 2).Draw(t, "change") {
	case 0:
		return slices.Delete(w, i, i+1)
	case 1:
		w[0], w[i] = w[i], w[0]
	default:
		w[i] = change(t, w[i])
	}
	return w
}

func changeObject(t *rapid.T, v object) any {
	if len(v) == 0 {
		return rapid.SampledFrom([]any{object{{"", nil}}, []any{}}).Draw(t, "object")
	}
	i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
	w := slices.Clone(v)
	switch rapid.IntRange(0, 2).Draw(t, "change") {
	case 0:
		return slices.Delete(w, i, i+1)
	case 1:
		w[0].value, w[i].value = w[i].value, w[0].value
	default:
		w[i].value = change(t, w[i].value)
	}
	return w
}
