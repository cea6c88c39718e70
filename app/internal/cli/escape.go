package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain is text that does nothing to a terminal: what controls it, what is not seen and what turns the direction of writing is
// shown as an escape. Text of others goes through it before it is printed.
func Plain(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b.String()
}

// hidden says that a terminal would do something else with a rune than show it.
func hidden(r rune) bool {
	return r != ' ' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
}

// shellWord is a word that a shell reads as it is: an ID that a stranger chose is no command when somebody copies a line.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:@%+,=", r))
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 && text[0] != '-' {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// printJSON prints JSON in one line, the same value: what would do something to a terminal is spelled as an escape.
func printJSON(w io.Writer, raw json.RawMessage) error {
	var b strings.Builder
	for _, r := range string(raw) { // the gateway's answer, which was read as JSON: other controls than white space are in strings
		switch {
		case r == '\n', r == '\r', r == '\t':
			b.WriteByte(' ')
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}
