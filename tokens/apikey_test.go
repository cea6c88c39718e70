package tokens_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/tokens"
)

func TestAPIKeyForm(t *testing.T) {
	t.Parallel()
	key, err := tokens.NewAPIKey(strings.NewReader(strings.Repeat("r", 32)))
	if err != nil {
		t.Fatal(err)
	}
	text := key.Reveal()
	if !regexp.MustCompile(`^fge_[0-9A-Za-z]{49}$`).MatchString(text) || !tokens.IsAPIKey(text) {
		t.Fatalf("form: %s", text)
	}
	if read, err := tokens.ParseAPIKey(text); err != nil || !read.Equal(key) {
		t.Errorf("its own text is refused: %v", err)
	}
	if _, err := tokens.Parse(text); !errors.Is(err, tokens.ErrMalformed) {
		t.Errorf("an API key is read as a hook token: %v", err)
	}
	for _, bad := range []string{
		"", "fge_", text[:52], text + "0", text[:52] + "-", strings.ToUpper(text), " " + text, "fhk_" + text[4:], golden,
		text[:10] + "0" + text[11:], text[:51] + "zz", strings.Repeat("fge_", 1<<16),
	} {
		if bad == text {
			t.Fatal("a case is the key itself")
		}
		if s, err := tokens.ParseAPIKey(bad); !errors.Is(err, tokens.ErrMalformed) || !s.IsZero() {
			t.Errorf("ParseAPIKey(%.60q): %v", bad, err)
		}
	}
	if _, err := tokens.NewAPIKey(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short read: %v", err)
	}
}

// The digests of a key and of a hook token with one text are two, and each digest key has its own.
func TestAPIKeyDigests(t *testing.T) {
	t.Parallel()
	d1 := tokens.Key{ID: "d1", Secret: bytes.Repeat([]byte("1"), 32)}
	d2 := tokens.Key{ID: "d2", Secret: bytes.Repeat([]byte("2"), 32)}
	ring := newKeyring(t, []tokens.Key{d1}, []tokens.Key{d2, d1})
	alone, err := tokens.NewDigester([]tokens.Key{d2, d1})
	if err != nil {
		t.Fatal(err)
	}
	text := tokens.NewSecret(golden)
	id, sum := alone.Digest(text)
	if id != "d2" || sum != alone.Digests(text)[0] || sum == alone.Digests(text)[1] {
		t.Errorf("the current key is not the first: %s", id)
	}
	if ofRing := ring.Digester().Digests(text); ofRing[0] != sum || len(ofRing) != 2 {
		t.Error("the ring's digests are others")
	}
	if _, ofHook := ring.Digest(text); ofHook == sum {
		t.Error("an API key and a hook token have one digest")
	}
	if got, want := fmt.Sprint(alone.Checks()), fmt.Sprint(ring.Checks()[1:]); got != want {
		t.Errorf("checks: got %s, want %s", got, want)
	}
	var refused *tokens.KeyError
	if _, err := tokens.NewDigester(nil); !errors.As(err, &refused) || refused.Set != tokens.DigestSet {
		t.Errorf("no keys: %v", err)
	}
}

func TestSignKeys(t *testing.T) {
	t.Parallel()
	seed := func(c string) []byte { return bytes.Repeat([]byte(c), 32) }
	keys, err := tokens.NewSignKeys([]tokens.Key{{ID: "s2", Secret: seed("2")}, {ID: "s1", Secret: seed("1")}})
	if err != nil {
		t.Fatal(err)
	}
	id, signer := keys.Current()
	sig, err := signer.Sign(nil, []byte("message"), crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	second, ok := keys.Public("s2")
	if id != "s2" || !ok || !ed25519.Verify(second, []byte("message"), sig) || !second.Equal(signer.Public()) {
		t.Error("the first key does not sign")
	}
	if first, ok := keys.Public("s1"); !ok || ed25519.Verify(first, []byte("message"), sig) {
		t.Error("the second key verifies what it did not sign")
	}
	if _, ok := keys.Public("s3"); ok {
		t.Error("there is no third key")
	}
	if _, err := signer.Sign(nil, []byte("message"), crypto.SHA512); err == nil {
		t.Error("a hash is signed as a message")
	}
	if c := keys.Checks(); len(c) != 2 || c[0].Kind != tokens.SignSet || c[0].ID != "s2" || c[0].Check == c[1].Check {
		t.Errorf("checks: %v", c)
	}
	for _, bad := range [][]tokens.Key{
		nil,
		{{ID: "s", Secret: seed("1")[:31]}},
		{{ID: "s", Secret: append(seed("1"), 'x')}},
		{{ID: "", Secret: seed("1")}},
		{{ID: "s", Secret: seed("1")}, {ID: "s", Secret: seed("2")}},
	} {
		var refused *tokens.KeyError
		if _, err := tokens.NewSignKeys(bad); !errors.As(err, &refused) || refused.Set != tokens.SignSet {
			t.Errorf("%d keys: %v", len(bad), err)
		}
	}
}

// Neither keys nor what holds them shows a byte of a secret.
func TestNewKeysPrintNothing(t *testing.T) {
	t.Parallel()
	secret := tokens.Key{ID: "k", Secret: []byte((secretText + secretText)[:32])}
	digester, err := tokens.NewDigester([]tokens.Key{secret})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := tokens.NewSignKeys([]tokens.Key{secret})
	if err != nil {
		t.Fatal(err)
	}
	_, signer := keys.Current()
	holder := struct {
		d *tokens.Digester
		s *tokens.SignKeys
	}{digester, keys}
	for _, value := range []any{digester, *digester, keys, *keys, signer, holder} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if text := fmt.Sprintf(verb, value); leaks(text) {
				t.Errorf("%T under %s: %s", value, verb, text)
			}
		}
	}
}
