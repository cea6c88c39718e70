package canon_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// A value of these tests is nil, a bool, a number, a string, an array ([]any)
// or an object. It has one representation only, so == and reflect.DeepEqual are
// equality of JSON values, decided without the package under test.

// number is coef × 10^exp; coef has no zero at either end, but for zero itself.
type number struct {
	neg  bool
	coef string
	exp  int
}

// object has its members in key order.
type object []pair

type pair struct {
	key   string
	value any
}

func genValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return genNumber(t)
		case 3:
			return genText(t)
		case 4:
			return rapid.SliceOfN(genValue(depth-1), 0, 4).Draw(t, "array")
		default:
			return genObject(t, depth)
		}
	})
}

func genObject(t *rapid.T, depth int) object {
	keys := rapid.SliceOfNDistinct(rapid.Custom(genText), 0, 5, rapid.ID[string]).Draw(t, "keys")
	slices.Sort(keys)
	o := object{}
	for _, k := range keys {
		o = append(o, pair{k, genValue(depth-1).Draw(t, "member")})
	}
	return o
}

func genNumber(t *rapid.T) any {
	coef := strings.Trim(rapid.StringMatching(`[0-9]{1,30}`).Draw(t, "coef"), "0")
	if coef == "" {
		return number{coef: "0"}
	}
	return number{
		neg: rapid.Bool().Draw(t, "neg"), coef: coef,
		exp: rapid.IntRange(-250, 250).Draw(t, "exp"),
	}
}

func genText(t *rapid.T) string {
	runes := rapid.RuneFrom([]rune("ab\"\\/\b\f\n\r\t\x01\x1f\x7fé€\u2028\ue000\uffff😀"))
	return rapid.StringOfN(runes, 0, 8, -1).Draw(t, "text")
}

// spell writes v in one of its many spellings.
func spell(t *rapid.T, v any) string {
	var b strings.Builder
	blank(t, &b)
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case number:
		b.WriteString(spellNumber(t, v))
	case string:
		spellText(t, &b, v)
	case []any:
		spellList(t, &b, "[]", len(v), func(i int) { b.WriteString(spell(t, v[i])) })
	case object:
		order := rapid.Permutation(v).Draw(t, "order")
		spellList(t, &b, "{}", len(order), func(i int) {
			spellText(t, &b, order[i].key)
			blank(t, &b)
			b.WriteString(":" + spell(t, order[i].value))
		})
	}
	blank(t, &b)
	return b.String()
}

func spellList(t *rapid.T, b *strings.Builder, brackets string, n int, item func(int)) {
	b.WriteByte(brackets[0])
	blank(t, b)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
			blank(t, b)
		}
		item(i)
	}
	b.WriteByte(brackets[1])
}

func blank(t *rapid.T, b *strings.Builder) {
	b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(t, "blank"))
}

func spellNumber(t *rapid.T, n number) string {
	zeros := rapid.IntRange(0, 3).Draw(t, "zeros")
	digits := n.coef + strings.Repeat("0", zeros)
	exp := n.exp - zeros
	if point := rapid.IntRange(0, len(digits)).Draw(t, "point"); point < len(digits) {
		exp += len(digits) - point
		whole := digits[:point]
		if point == 0 {
			whole = "0"
		}
		digits = whole + "." + digits[point:]
	}
	sign := ""
	if n.neg || n.coef == "0" && rapid.Bool().Draw(t, "negative zero") {
		sign = "-"
	}
	if n.coef == "0" && len(digits) > 1 && digits[1] != '.' {
		digits = "0"
	}
	if exp == 0 && rapid.Bool().Draw(t, "plain") {
		return sign + digits
	}
	verb := rapid.SampledFrom([]string{"e%d", "E%d", "e%+d", "e%+05d"}).Draw(t, "exponent")
	return sign + digits + fmt.Sprintf(verb, exp)
}

func spellText(t *rapid.T, b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		short := strings.IndexRune("\"\\/\b\f\n\r\t", r)
		switch how := rapid.IntRange(0, 2).Draw(t, "escape"); {
		case how == 0 && r >= 0x20 && r != '"' && r != '\\':
			b.WriteRune(r)
		case how == 1 && short >= 0:
			b.WriteString(`\` + `"\/bfnrt`[short:short+1])
		default:
			format := rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "hex")
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(b, format, unit)
			}
		}
	}
	b.WriteByte('"')
}
