package httppost

import (
	"net/url"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/tokens"
)

// minPart is how long a part of a URL must be to be taken for a secret of its own: shorter than every token of a hook.
const minPart = 16

// hidden are the secrets of one request, which a response may repeat and an output must not. They are found as they were
// sent; whoever wants to send them back in another form can.
type hidden struct{ secrets []tokens.Secret }

func (h *hidden) add(text string) {
	if len(text) >= 8 {
		h.secrets = append(h.secrets, tokens.NewSecret(text))
	}
}

// addURL hides a URL, its path and query as servers repeat them, and what of it may be a token.
func (h *hidden) addURL(text string) {
	h.add(text)
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	h.add(u.RequestURI())
	h.add(u.EscapedPath())
	for _, part := range strings.FieldsFunc(u.RequestURI(), func(c rune) bool { return strings.ContainsRune("/?&=", c) }) {
		if len(part) >= minPart {
			h.add(part)
		}
	}
}

// addCredential hides a header's value, also without its scheme.
func (h *hidden) addCredential(value string) {
	h.add(value)
	if _, rest, ok := strings.Cut(value, " "); ok {
		h.add(rest)
	}
}

// scrub replaces secrets in a text. They are replaced longest first, so that none is torn by its own part.
func (h *hidden) scrub(text string) string {
	slices.SortFunc(h.secrets, func(a, b tokens.Secret) int { return len(b.Reveal()) - len(a.Reveal()) })
	for _, s := range h.secrets {
		text = strings.ReplaceAll(text, s.Reveal(), tokens.Redacted)
	}
	return string(tokens.Scrub([]byte(text)))
}

// trim takes the beginning of a secret off the end of a text that was cut there.
func (h *hidden) trim(text string) string {
	for _, s := range h.secrets {
		secret := s.Reveal()
		for n := min(len(secret)-1, len(text)); n > 0; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				text = text[:len(text)-n]
				break
			}
		}
	}
	return text
}

// scrubAny replaces secrets in the strings and names of a decoded JSON value, and reports whether there were any.
func (h *hidden) scrubAny(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		clean := h.scrub(v)
		return clean, clean != v
	case []any:
		found := false
		for i := range v {
			clean, hit := h.scrubAny(v[i])
			v[i], found = clean, found || hit
		}
		return v, found
	case map[string]any:
		clean, found := make(map[string]any, len(v)), false
		for _, k := range sortedKeys(v) {
			value, hit := h.scrubAny(v[k])
			name := h.scrub(k)
			clean[name] = value
			found = found || hit || name != k
		}
		return clean, found
	default:
		return v, false
	}
}
