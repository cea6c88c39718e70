package page

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// Whatever stands in a page, its texts end no element and no attribute, begin none, and hold nothing that is not seen.
func TestDraw_escapes_every_text(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"<script>", `"><x>`, "'", "\u202e", "\u2066", "\u200b", "\x00", "\xff", "&lt;", "{{.}}", "-->", "</textarea>", "</bdi>", "\r\n",
	}))
	frame := tagsOf(t, filled(func() string { return "x" }))
	rapid.Check(t, func(rt *rapid.T) {
		html := filled(func() string { return text.Draw(rt, "text") })
		if got := tagsOf(rt, html); got != frame {
			rt.Fatalf("other elements:\n%s\n%s", got, frame)
		}
		for _, r := range string(html) {
			if r != '\n' && r != '\r' && r != '\t' && r != '\u200c' && r != '\u200d' && (unicode.Is(unicode.C, r) || r == '\u2028') && !inForm(html, r) {
				rt.Fatalf("U+%04X is in the page", r)
			}
		}
	})
}

// inForm says that a character stands only where a person wrote it: in the comment that goes back into the form.
func inForm(html []byte, r rune) bool {
	all := string(html)
	from, to := strings.Index(all, "<textarea"), strings.Index(all, "</textarea>")
	return from >= 0 && !strings.ContainsRune(all[:from], r) && !strings.ContainsRune(all[to:], r)
}

// tagsOf lists the elements of a page with the names of their attributes.
func tagsOf(t interface{ Fatalf(string, ...any) }, html []byte) string {
	var tags []string
	for _, part := range strings.Split(string(html), "<")[1:] {
		tag, _, found := strings.Cut(part, ">")
		if !found {
			t.Fatalf("an element without an end in %q", part)
		}
		name, _, _ := strings.Cut(tag, " ")
		if name == "span" || name == "/span" {
			continue // what is made visible
		}
		tags = append(tags, name)
	}
	return strings.Join(tags, " ")
}

func filled(text func() string) []byte {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	html, err := Draw(Page{
		Notice: &Notice{Title: "t", Text: text(), Bad: true},
		Ask: &Ask{
			Subject: text(), Description: "d" + text(), Requester: "r" + text(), Recipient: text(), Rule: "1 of 2", Deadline: &now, Now: now,
			Facts: []Fact{{text(), text(), false}, {text(), text(), true}}, Labels: []Fact{{Name: text(), Value: text()}}, Run: text(), Hook: text(),
		},
		Form: &Form{Nonce: "n", Comment: text(), Missing: true},
		End:  &End{Title: "t", Text: "t", By: "b" + text(), At: &now, Comment: "c" + text()},
	})
	if err != nil {
		panic(err)
	}
	return html
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":               "",
		"a\nb\tc":        "a\nb\tc",
		"<&\"'>":         "&lt;&amp;&#34;&#39;&gt;",
		"a\u202eb":       `a<span class="code">U+202E</span>b`,
		"\u2066\u2069":   `<span class="code">U+2066</span><span class="code">U+2069</span>`,
		"\u200b\ufeff":   `<span class="code">U+200B</span><span class="code">U+FEFF</span>`,
		"\x1b[2J":        `<span class="code">U+001B</span>[2J`,
		"\u2028\u3000\r": `<span class="code">U+2028</span><span class="code">U+3000</span><span class="code">U+000D</span>`,
		"\xff":           `<span class="code">not UTF-8</span>`,
		"\ufffd":         "\ufffd",
		"👩\u200d🚀":       "👩\u200d🚀",
		"שלום é ß\u00a0": "שלום é ß\u00a0",
		"\U000e0041":     `<span class="code">U+E0041</span>`,
		"{{.Subject}}":   "{{.Subject}}",
	} {
		if got := string(Visible(text)); got != "<bdi>"+want+"</bdi>" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for left, want := range map[time.Duration]string{
		-time.Second: "it has passed", 0: "it has passed", 59 * time.Second: "less than a minute left", time.Minute: "1 minute left",
		59 * time.Minute: "59 minutes left", time.Hour: "1 hour left", 61 * time.Minute: "1 hour 1 minute left",
		24 * time.Hour: "1 day left", 50 * time.Hour: "2 days 2 hours left", 24*time.Hour + time.Minute: "1 day left",
	} {
		if got := until(now, now.Add(left)); got != want {
			t.Errorf("%s: %q, want %q", left, got, want)
		}
	}
}

// Every pair of colours that carries text, or the edge of what is pressed, can be told apart: 4.5 to 1, and 3 to 1 (WCAG 2.2).
func TestStyle_contrast(t *testing.T) {
	t.Parallel()
	parts := strings.Split(string(Style), "prefers-color-scheme: dark")
	for i, scheme := range []string{"light", "dark"} {
		colour := coloursOf(parts[i])
		for _, pair := range []struct {
			front, back string
			least       float64
		}{
			{"ink", "card", 4.5},
			{"soft", "card", 4.5},
			{"accent", "card", 4.5},
			{"on-accent", "accent", 4.5},
			{"good", "good-ground", 4.5},
			{"bad", "bad-ground", 4.5},
			{"bad", "card", 4.5},
			{"ink", "good-ground", 4.5},
			{"ink", "bad-ground", 4.5},
			{"ink", "note-ground", 4.5},
			{"edge", "card", 3},
		} {
			if got := contrast(colour[pair.front], colour[pair.back]); got < pair.least {
				t.Errorf("%s: %s on %s has %.2f", scheme, pair.front, pair.back, got)
			}
		}
	}
}
