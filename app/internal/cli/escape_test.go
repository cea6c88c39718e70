package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"Reise nach Zürich 日本 🙂":   "Reise nach Zürich 日本 🙂",
		"\x1b[31m":                 `\x1b[31m`,
		"a\tb\r\nc\x00\x7f":        `a\x09b\x0d\x0ac\x00\x7f`,
		"\u009b31m":                `\u009b31m`,
		"abc\u202ecba\u2066":       `abc\u202ecba\u2066`,
		"\u2028\u2029\ufeff\u200b": `\u2028\u2029\ufeff\u200b`,
		"\U000e0041":               `\ue0041`,
		"bad \xff\xc3 bytes":       `bad \xff\xc3 bytes`,
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"\x1b]0;x\a", "\u202e", "ü", "\xff", `\x1b`, "\U000e0001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Plain(text)
		if !utf8.ValidString(got) || strings.IndexFunc(got, hidden) >= 0 {
			t.Errorf("%q: got %q", text, got)
		}
		var out bytes.Buffer
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := printJSON(&out, raw); err != nil {
			t.Fatal(err)
		}
		var again, once string
		if json.Unmarshal(raw, &once) != nil || json.Unmarshal(out.Bytes(), &again) != nil || again != once {
			t.Errorf("%q: JSON %s", text, out.String())
		}
		if line := strings.TrimSuffix(out.String(), "\n"); strings.IndexFunc(line, hidden) >= 0 {
			t.Errorf("%q: JSON %q", text, line)
		}
	})
}
