package tokens_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

func pageRing(t *testing.T, ids ...string) *tokens.Keyring {
	t.Helper()
	var keys []tokens.Key
	for _, id := range ids {
		keys = append(keys, tokens.Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), 32)})
	}
	ring, err := tokens.NewKeyring(keys, keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// A page's token depends on all that it is bound to, has the form of our tokens, and is no hook's, no API key's and no name.
func TestMintPage(t *testing.T) {
	t.Parallel()
	ring := pageRing(t, "a", "b")
	base := tokens.PageBinding{Binding: tokens.Binding{Namespace: "n", RunID: "r", HookID: "h"}, Recipient: "ada"}
	seen := map[string]bool{}
	for _, b := range []tokens.PageBinding{
		base,
		{Binding: base.Binding, Recipient: "bob"},
		{Binding: tokens.Binding{Namespace: "n", RunID: "r", HookID: "ha"}, Recipient: "da"},
		{Binding: tokens.Binding{Namespace: "nr", RunID: "", HookID: "h"}, Recipient: "ada"},
		{Binding: tokens.Binding{Namespace: "m", RunID: "r", HookID: "h"}, Recipient: "ada"},
	} {
		for _, n := range []tokens.Nonce{{}, {1}} {
			m := ring.MintPage(b, n)
			text := m.Token.Reveal()
			if seen[text] {
				t.Errorf("two pages have one token: %+v", b)
			}
			seen[text] = true
			if !regexp.MustCompile(`^fha_[0-9A-Za-z]{49}$`).MatchString(text) {
				t.Errorf("form: %s", text)
			}
			again, err := pageRing(t, "b", "a").RemintPage(m.KeyID, b, n)
			if err != nil || !again.Equal(m.Token) {
				t.Errorf("not made again: %v", err)
			}
			if _, err := tokens.Parse(text); !errors.Is(err, tokens.ErrMalformed) {
				t.Errorf("read as a hook's: %v", err)
			}
			if _, err := tokens.ParseAPIKey(text); !errors.Is(err, tokens.ErrMalformed) {
				t.Errorf("read as an API key: %v", err)
			}
			if spec.CheckNoToken("f", "x "+text) == nil {
				t.Error("it passes as a text without a token")
			}
			if strings.Contains(string(tokens.Scrub([]byte("at "+text))), text) || strings.Contains(fmt.Sprintf("%v %+v", m, m), text) {
				t.Error("it is printed")
			}
		}
	}
	if _, err := ring.RemintPage("c", base, tokens.Nonce{}); !errors.Is(err, tokens.ErrKeyUnknown) {
		t.Errorf("unknown key: %v", err)
	}
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	ring := pageRing(t, "a")
	text := ring.MintPage(tokens.PageBinding{Recipient: "ada"}, tokens.Nonce{}).Token.Reveal()
	if token, err := tokens.ParsePage(text); err != nil || token.Reveal() != text {
		t.Fatal(err)
	}
	hook := ring.Mint(tokens.Binding{}, tokens.Nonce{}).Token.Reveal()
	for _, bad := range []string{
		"", text[:52], text + "0", text + ".", strings.ToUpper(text), " " + text, hook, "fha_" + hook[4:], "fhk_" + text[4:],
		"fha_" + strings.Repeat("0", 49), strings.Repeat("a", 53), text[:20] + "%41" + text[23:],
	} {
		if _, err := tokens.ParsePage(bad); !errors.Is(err, tokens.ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A sum is known for what it was made of only, under every loaded key.
func TestFormSum(t *testing.T) {
	t.Parallel()
	old, both := pageRing(t, "a"), pageRing(t, "b", "a")
	sum := old.FormSum([]byte("page"), []byte("time"))
	for _, ring := range []*tokens.Keyring{old, both} {
		if !ring.IsFormSum(sum[:], []byte("page"), []byte("time")) {
			t.Error("not known")
		}
		for _, parts := range [][][]byte{{[]byte("page")}, {[]byte("pag"), []byte("etime")}, {[]byte("page"), []byte("timf")}, nil} {
			if ring.IsFormSum(sum[:], parts...) {
				t.Errorf("known for %q", parts)
			}
		}
		if ring.IsFormSum(sum[:31], []byte("page"), []byte("time")) || ring.IsFormSum(nil, []byte("page"), []byte("time")) {
			t.Error("a part of it is known")
		}
	}
	if pageRing(t, "c").IsFormSum(sum[:], []byte("page"), []byte("time")) {
		t.Error("known under another key")
	}
}
