package tokens_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/tokens"
)

// secretText is looked for in all its spellings: as text, as hex, as bytes.
const secretText = "topsecret-0123456789ABCD"

func leaks(s string) bool {
	for _, spelling := range []string{
		secretText, secretText[:9], fmt.Sprintf("%x", secretText[:9]), fmt.Sprintf("%X", secretText[:9]),
		strings.Trim(fmt.Sprint([]byte(secretText[:9])), "[]"), "dG9wc2Vjcm",
	} {
		if strings.Contains(s, spelling) {
			return true
		}
	}
	return false
}

type holder struct {
	Public  tokens.Secret
	hidden  tokens.Secret
	pointer *tokens.Secret
	List    []tokens.Secret
	Minted  tokens.Minted
	Key     tokens.Key
	ring    *tokens.Keyring
}

func newHolder(t *testing.T) holder {
	s := tokens.NewSecret(secretText)
	key := tokens.Key{ID: "k", Secret: []byte(secretText + secretText)}
	return holder{
		Public: s, hidden: s, pointer: &s, List: []tokens.Secret{s}, Minted: tokens.Minted{Token: s, KeyID: "k"},
		Key: key, ring: newKeyring(t, []tokens.Key{key}, []tokens.Key{key}),
	}
}

func TestNoVerbPrintsASecret(t *testing.T) {
	t.Parallel()
	h := newHolder(t)
	// A Key is a way in, not a place to keep a secret: fmt asks no value how to
	// print under %p, so only what holds a Secret or a Keyring is held to that.
	keys := map[string]any{"key": h.Key, "keys": []tokens.Key{h.Key}, "holder": h, "holder pointer": &h}
	values := map[string]any{
		"ring pointer": &h.ring,
		"secret":       h.Public, "pointer": &h.Public, "ring": h.ring, "ring value": *h.ring,
		"hidden": struct{ hidden tokens.Secret }{h.hidden}, "minted": h.Minted, "map": map[string]any{"s": h.Public},
	}
	const verbs = "v +v #v s +s q +q #q x X #x d o b c U t e g T 20s -5v .3s"
	check := func(name string, v any, verbs string) {
		for verb := range strings.SplitSeq(verbs, " ") {
			if got := fmt.Sprintf("%"+verb, v); leaks(got) {
				t.Errorf("%%%s of %s prints %s", verb, name, got)
			}
		}
	}
	for name, v := range keys {
		check(name, v, verbs)
	}
	for name, v := range values {
		check(name, v, verbs+" p")
	}
	for _, v := range []any{h.Public, &h.Public, h.Key, h.ring} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3v"} {
			if got := fmt.Sprintf(verb, v); got != tokens.Redacted {
				t.Errorf("%s of %T prints %s", verb, v, got)
			}
		}
	}
	if got := fmt.Sprint(fmt.Errorf("token %v", h.Public)); got != "token [redacted]" {
		t.Errorf("in an error: %s", got)
	}
}

func TestNoEncoderWritesASecret(t *testing.T) {
	t.Parallel()
	h := newHolder(t)
	var out bytes.Buffer
	record := func(name string, err error) {
		if err != nil || leaks(out.String()) || !strings.Contains(out.String(), tokens.Redacted) {
			t.Errorf("%s: %v: %s", name, err, out.String())
		}
		out.Reset()
	}
	record("json", json.NewEncoder(&out).Encode(h))
	record("xml", xml.NewEncoder(&out).Encode(h.Public))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "secret", h.Public, "key", h.Key, "ring", h.ring, "holder", h)
	record("slog json", nil)
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "secret", h.Public, "key", h.Key, "ring", h.ring, "holder", h)
	record("slog text", nil)
	logger := zerolog.New(&out)
	logger.Info().Any("secret", h.Public).Any("holder", h).Stringer("stringer", h.Public).Msgf("%+v", h)
	record("zerolog", nil)
	if got, _ := json.Marshal(h.Public); string(got) != `"[redacted]"` {
		t.Errorf("json %s", got)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	var zero tokens.Secret
	if !zero.IsZero() || zero.Reveal() != "" || !tokens.NewSecret("").IsZero() || !zero.Equal(tokens.NewSecret("")) {
		t.Error("the zero secret is not empty")
	}
	a := tokens.NewSecret("abc")
	if a.IsZero() || a.Reveal() != "abc" || !a.Equal(tokens.NewSecret("abc")) {
		t.Error("a secret is not what it was made of")
	}
	for _, other := range []tokens.Secret{zero, tokens.NewSecret("abd"), tokens.NewSecret("ab"), tokens.NewSecret("abcd")} {
		if a.Equal(other) || other.Equal(a) {
			t.Errorf("%q equals %q", a.Reveal(), other.Reveal())
		}
	}
}

func TestScrubWriter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := tokens.ScrubWriter(&out)
	line := "POST /callbacks/flow/hooks/" + golden + " 202\n"
	if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
		t.Errorf("wrote %d of %d, %v", n, len(line), err)
	}
	if got, want := out.String(), "POST /callbacks/flow/hooks/[redacted] 202\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	full := errors.New("disk full")
	if n, err := tokens.ScrubWriter(brokenWriter{3, full}).Write([]byte(line)); n != 3 || !errors.Is(err, full) {
		t.Errorf("a broken writer: %d, %v", n, err)
	}
	if _, err := tokens.ScrubWriter(brokenWriter{3, nil}).Write([]byte(line)); err == nil {
		t.Error("a short write without an error is not reported")
	}
}

type brokenWriter struct {
	n   int
	err error
}

func (w brokenWriter) Write([]byte) (int, error) { return w.n, w.err }
