package tokens_test

import (
	"bytes"
	"testing"

	"github.com/flowgate-go/flowgate/tokens"
)

func benchRing(b *testing.B, digestKeys ...string) *tokens.Keyring {
	b.Helper()
	secret := bytes.Repeat([]byte{7}, 32)
	digest := make([]tokens.Key, len(digestKeys))
	for i, id := range digestKeys {
		digest[i] = tokens.Key{ID: id, Secret: secret}
	}
	ring, err := tokens.NewKeyring([]tokens.Key{{ID: "m1", Secret: secret}}, digest)
	if err != nil {
		b.Fatal(err)
	}
	return ring
}

var benchBinding = tokens.Binding{Namespace: "default", RunID: "invoice-2026-0042", HookID: "approval"}

// BenchmarkParse reads what a caller presents: the work done for every request to a callback URL, also a wrong one.
func BenchmarkParse(b *testing.B) {
	minted := benchRing(b, "d1").Mint(benchBinding, tokens.Nonce{1}).Token.Reveal()
	for name, text := range map[string]string{
		"minted": minted, "host": "a-host-supplied-token-of-40-characters-x", "wrong checksum": minted[:len(minted)-6] + "000000",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = tokens.Parse(text)
			}
		})
	}
}

// BenchmarkMint makes the token of a new hook.
func BenchmarkMint(b *testing.B) {
	ring := benchRing(b, "d1")
	b.ReportAllocs()
	for b.Loop() {
		ring.Mint(benchBinding, tokens.Nonce{1})
	}
}

// BenchmarkDigestKeys makes what a token is looked up by: under the current key, and under all of them.
func BenchmarkDigestKeys(b *testing.B) {
	ring := benchRing(b, "d1", "d2")
	token := ring.Mint(benchBinding, tokens.Nonce{1}).Token
	b.Run("current", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ring.Digest(token)
		}
	})
	b.Run("two keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ring.Digests(token)
		}
	})
}
