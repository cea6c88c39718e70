package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Visible is a text of a stranger as HTML. It is isolated, so that its direction does not reach what stands around it, and what
// would be invisible, or would turn the order of letters round, is shown by its number.
func Visible(text string) template.HTML {
	var out strings.Builder
	out.WriteString(`<bdi>`)
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			out.WriteString(`<span class="code">not UTF-8</span>`)
		case hidden(r):
			fmt.Fprintf(&out, `<span class="code">U+%04X</span>`, r)
		default:
			out.WriteString(template.HTMLEscapeString(string(r)))
		}
	}
	out.WriteString(`</bdi>`)
	return template.HTML(out.String()) //nolint:gosec // every rune was escaped
}

// hidden says that a character is not seen, or changes how others are. The joiners of emoji and of Persian are neither.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200C', '\u200D'
	if r == '\n' || r == '\t' || r == nonJoiner || r == joiner {
		return false
	}
	return unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp) || unicode.IsSpace(r) && r != ' ' && r != '\u00A0'
}

func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// until is the time that is left, in the two largest units.
func until(now, deadline time.Time) string {
	left := deadline.Sub(now)
	switch {
	case left <= 0:
		return "it has passed"
	case left < time.Minute:
		return "less than a minute left"
	case left < time.Hour:
		return plural(int(left/time.Minute), "minute") + " left"
	case left < 24*time.Hour:
		return plural(int(left/time.Hour), "hour") + and(int(left%time.Hour/time.Minute), "minute") + " left"
	}
	const day = 24 * time.Hour
	return plural(int(left/day), "day") + and(int(left%day/time.Hour), "hour") + " left"
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func and(n int, unit string) string {
	if n == 0 {
		return ""
	}
	return " " + plural(n, unit)
}
