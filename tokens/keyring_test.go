package tokens_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/tokens"
)

// sequence returns n bytes that count up from first.
func sequence(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

var (
	mintKey   = tokens.Key{ID: "m1", Secret: sequence(0, 32)}
	digestKey = tokens.Key{ID: "d1", Secret: sequence(100, 40)}
)

func newKeyring(t testing.TB, mint, digest []tokens.Key) *tokens.Keyring {
	t.Helper()
	k, err := tokens.NewKeyring(mint, digest)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func testKeyring(t testing.TB) *tokens.Keyring {
	return newKeyring(t, []tokens.Key{mintKey}, []tokens.Key{digestKey})
}

var approval = tokens.Binding{Namespace: "default", RunID: "invoice-42", HookID: "approval"}

// What is stored must be found again by every later version, so no byte of
// these may ever change. They were computed with another program.
func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	k := testKeyring(t)
	for _, c := range []struct {
		binding tokens.Binding
		nonce   []byte
		want    string
	}{
		{approval, sequence(0, 16), "fhk_7R45vahC06GeCCI5MXZyMHyO8iYtDvxu2UdxPhiTaHN0cAvpI"},
		{tokens.Binding{HookID: "b"}, make([]byte, 16), "fhk_URsZWRu5ixa3FnsLqG1YWkFhCgw5ubhNZzXFVDfIarc4MXWDo"},
		{tokens.Binding{Namespace: "ns", RunID: "Rechnung/ß", HookID: "b"}, []byte(strings.Repeat("\xff", 16)), "fhk_qvURqISVRPxdT1MNwyJ3OfkIV1wsxAFE0Lomz0kYVdk2Mp7q0"},
	} {
		m := k.Mint(c.binding, tokens.Nonce(c.nonce))
		if m.Token.Reveal() != c.want || m.KeyID != "m1" || m.Nonce != tokens.Nonce(c.nonce) {
			t.Errorf("%v: %s under %s, want %s", c.binding, m.Token.Reveal(), m.KeyID, c.want)
		}
	}
	for text, want := range map[string]string{
		"fhk_7R45vahC06GeCCI5MXZyMHyO8iYtDvxu2UdxPhiTaHN0cAvpI": "543b5e5ed3146a8103832ff8b983f181255cbed6598e8e344907fd2b75f03a7b",
		"host-token-0123456789_AB":                              "4caf9411fb9afeac04a9cf59fda239b68a3debf96df22341140de63040c7dc97",
	} {
		id, d := k.Digest(tokens.NewSecret(text))
		if got := hex.EncodeToString(d[:]); got != want || id != "d1" || d.TokenID() != want[:8] {
			t.Errorf("digest of %s: %s under %s, named %s, want %s", text, got, id, d.TokenID(), want)
		}
	}
	checks := []string{
		"43dfc25d1135ad03d872ccfab547532f11ca863d4707bceb12a9da6fcc9318aa",
		"9f6ff268a5fc2442682e8ccac6723aceb29694ecedfc01a3b1c7e107a45144b3",
	}
	for i, c := range k.Checks() {
		if got := hex.EncodeToString(c.Check[:]); got != checks[i] || c.ID != []string{"m1", "d1"}[i] || c.Kind != []string{"mint", "digest"}[i] {
			t.Errorf("check %d: %s key %s: %s, want %s", i, c.Kind, c.ID, got, checks[i])
		}
	}
}

func TestTokensDependOnEveryPartOfTheBinding(t *testing.T) {
	t.Parallel()
	k := testKeyring(t)
	type input struct {
		binding tokens.Binding
		nonce   tokens.Nonce
	}
	genInput := rapid.Custom(func(t *rapid.T) input {
		part := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00|")), 0, 3, -1)
		return input{
			tokens.Binding{Namespace: part.Draw(t, "namespace"), RunID: part.Draw(t, "run"), HookID: part.Draw(t, "hook")},
			tokens.Nonce{rapid.ByteMax(1).Draw(t, "nonce")},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := genInput.Draw(t, "a"), genInput.Draw(t, "b")
		same := k.Mint(a.binding, a.nonce).Token.Equal(k.Mint(b.binding, b.nonce).Token)
		if same != (a == b) {
			t.Fatalf("%v and %v have equal tokens: %t", a, b, same)
		}
	})
	n := tokens.Nonce{}
	left := k.Mint(tokens.Binding{Namespace: "ab", RunID: "c", HookID: "d"}, n)
	right := k.Mint(tokens.Binding{Namespace: "a", RunID: "bc", HookID: "d"}, n)
	if left.Token.Equal(right.Token) {
		t.Error("ab|c|d and a|bc|d have one token")
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	m2 := tokens.Key{ID: "m2", Secret: sequence(7, 32)}
	d2 := tokens.Key{ID: "d2", Secret: sequence(9, 32)}
	before := testKeyring(t)
	after := newKeyring(t, []tokens.Key{m2, mintKey}, []tokens.Key{d2, digestKey})
	var n tokens.Nonce
	old := before.Mint(approval, n)
	if again, err := after.Remint(old.KeyID, approval, old.Nonce); err != nil || !again.Equal(old.Token) {
		t.Errorf("the old link is not made again: %v", err)
	}
	if m := after.Mint(approval, n); m.KeyID != "m2" || m.Token.Equal(old.Token) {
		t.Error("the new key does not mint")
	}
	if _, err := before.Remint("m2", approval, n); !errors.Is(err, tokens.ErrKeyUnknown) {
		t.Errorf("a key that is not loaded: %v", err)
	}
	if _, err := after.Remint("d2", approval, n); !errors.Is(err, tokens.ErrKeyUnknown) {
		t.Errorf("a key of the other set: %v", err)
	}
	_, stored := before.Digest(old.Token)
	id, current := after.Digest(old.Token)
	if ds := after.Digests(old.Token); id != "d2" || !slices.Equal(ds, []tokens.Digest{current, stored}) {
		t.Errorf("digests after the rotation: %s, %d", id, len(ds))
	}
}

func TestChecksTellKeysApart(t *testing.T) {
	t.Parallel()
	secret := sequence(0, 32)
	one := func(mintID, digestID string, secret []byte) []tokens.KeyCheck {
		return newKeyring(t, []tokens.Key{{ID: mintID, Secret: secret}}, []tokens.Key{{ID: digestID, Secret: secret}}).Checks()
	}
	a := one("a", "a", secret)
	if !reflect.DeepEqual(a, one("a", "a", slices.Clone(secret))) {
		t.Error("equal keys have different checks")
	}
	if a[0].Check == a[1].Check {
		t.Error("the sets share a check")
	}
	if b := one("a", "a", sequence(1, 32)); a[0].Check == b[0].Check || a[1].Check == b[1].Check {
		t.Error("another secret has the same check")
	}
	if b := one("b", "b", secret); a[0].Check == b[0].Check {
		t.Error("another ID has the same check")
	}
}

// One secret in both sets must not turn a digest into a token.
func TestUsesAreSeparate(t *testing.T) {
	t.Parallel()
	key := []tokens.Key{mintKey}
	k := newKeyring(t, key, key)
	m := k.Mint(tokens.Binding{}, tokens.Nonce{})
	_, d := k.Digest(m.Token)
	for _, c := range k.Checks() {
		if c.Check == [32]byte(d) {
			t.Error("a check is a digest")
		}
	}
}

func TestNewKeyringRefuses(t *testing.T) {
	t.Parallel()
	good := []tokens.Key{mintKey}
	const idRule, secretRule = "the ID must be 1 to 64 of A-Z a-z 0-9 _ -", "the secret must have at least 32 bytes"
	for _, c := range []struct {
		mint, digest []tokens.Key
		want         tokens.KeyError
	}{
		{nil, good, tokens.KeyError{Set: "mint", Index: -1, Rule: "at least one is needed"}},
		{good, nil, tokens.KeyError{Set: "digest", Index: -1, Rule: "at least one is needed"}},
		{[]tokens.Key{{ID: "", Secret: mintKey.Secret}}, good, tokens.KeyError{Set: "mint", Rule: idRule}},
		{[]tokens.Key{{ID: "a.b", Secret: mintKey.Secret}}, good, tokens.KeyError{Set: "mint", ID: "a.b", Rule: idRule}},
		{[]tokens.Key{{ID: strings.Repeat("k", 65), Secret: mintKey.Secret}}, good, tokens.KeyError{Set: "mint", ID: strings.Repeat("k", 65), Rule: idRule}},
		{good, []tokens.Key{digestKey, {ID: "short", Secret: sequence(0, 31)}}, tokens.KeyError{Set: "digest", Index: 1, ID: "short", Rule: secretRule}},
		{good, []tokens.Key{digestKey, digestKey}, tokens.KeyError{Set: "digest", Index: 1, ID: "d1", Rule: "its ID is used twice in the set"}},
	} {
		k, err := tokens.NewKeyring(c.mint, c.digest)
		var ke *tokens.KeyError
		if !errors.As(err, &ke) || k != nil || *ke != c.want {
			t.Errorf("got %#v, want %#v", ke, c.want)
			continue
		}
		if c.want.ID != "" && strings.Contains(err.Error(), c.want.ID) {
			t.Errorf("the error shows the ID: %v", err)
		}
	}
	if _, err := tokens.NewKeyring([]tokens.Key{{ID: strings.Repeat("k", 64), Secret: mintKey.Secret}}, good); err != nil {
		t.Errorf("an ID of 64: %v", err)
	}
}

// Whoever wipes the key after loading it must not change the ring.
func TestKeyringKeepsItsOwnCopy(t *testing.T) {
	t.Parallel()
	secret := sequence(0, 32)
	k := newKeyring(t, []tokens.Key{{ID: "m1", Secret: secret}}, []tokens.Key{digestKey})
	clear(secret)
	if got, want := k.Mint(approval, tokens.Nonce{}).Token, testKeyring(t).Mint(approval, tokens.Nonce{}).Token; !got.Equal(want) {
		t.Error("the key changed with the caller's slice")
	}
}

func TestNonce(t *testing.T) {
	t.Parallel()
	n, err := tokens.NewNonce(strings.NewReader("0123456789abcdefg"))
	if err != nil || string(n[:]) != "0123456789abcdef" {
		t.Errorf("nonce %q, %v", n[:], err)
	}
	if n, err := tokens.NewNonce(strings.NewReader("short")); err == nil || n != (tokens.Nonce{}) {
		t.Errorf("a short read gives %v, %v", n, err)
	}
}

func TestHexForms(t *testing.T) {
	t.Parallel()
	n := tokens.Nonce(sequence(0xf0, 16))
	text, err := n.MarshalText()
	if err != nil || string(text) != "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff" {
		t.Errorf("nonce %s, %v", text, err)
	}
	var back tokens.Nonce
	if err := back.UnmarshalText(text); err != nil || back != n {
		t.Errorf("nonce back: %v, %v", back, err)
	}
	_, d := testKeyring(t).Digest(tokens.NewSecret("x"))
	text, _ = d.MarshalText()
	var digest tokens.Digest
	if err := digest.UnmarshalText(text); err != nil || digest != d {
		t.Errorf("digest back: %v, %v", digest, err)
	}
	for _, bad := range []string{"", string(text[1:]), string(text) + "00", strings.Repeat("g", 64)} {
		if err := digest.UnmarshalText([]byte(bad)); err == nil || digest != d {
			t.Errorf("UnmarshalText(%q): %v", bad, err)
		}
	}
	if s := fmt.Sprint(d.TokenID()); len(s) != 8 {
		t.Errorf("token ID %q", s)
	}
}
