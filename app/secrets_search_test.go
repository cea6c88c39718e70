package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// class says what a secret is, and so where it may be.
type class string

const (
	bearer   class = "a token or a key"               // nowhere
	refused  class = "a payload that was refused"     // nowhere
	accepted class = "a payload that was accepted"    // where payloads are kept, and where they are shown to whom they concern
	authored class = "what workflow code said"        // in the run's own record
	named    class = "a key that a refusal points to" // in the answer to its sender
	control  class = "what is no secret"              // it has to be found, or the search finds nothing
)

// search finds secrets in texts: whole or in part, and however they are spelled. A part is fragment characters.
type search struct {
	classes []class
	parts   map[uint64][]part // by their first eight bytes
	filter  []uint64          // bits of those bytes, so that most places of a text cost one look
}

type part struct {
	text   string
	secret int
}

const (
	fragment   = 12
	filterBits = 24
)

func newSearch() *search {
	return &search{parts: map[uint64][]part{}, filter: make([]uint64, 1<<filterBits/64)}
}

// add has a secret searched for. Its plain spellings are found from every 12 characters of it on, the others from 15.
func (s *search) add(c class, secret string) {
	s.classes = append(s.classes, c)
	for i := 0; i+fragment <= len(secret); i++ {
		piece := secret[i : i+fragment]
		for n, spell := range spellings {
			if n < everywhere || i%4 == 0 {
				s.addPart(spell(piece))
			}
		}
	}
}

// addWhole has a text searched for as it is.
func (s *search) addWhole(c class, text string) {
	s.classes = append(s.classes, c)
	s.addPart(text)
}

func (s *search) addPart(text string) {
	head := binary.LittleEndian.Uint64([]byte(text))
	s.parts[head] = append(s.parts[head], part{text, len(s.classes) - 1})
	bit := bitOf(head)
	s.filter[bit/64] |= 1 << (bit % 64)
}

func bitOf(head uint64) uint64 { return head * 0x9E3779B97F4A7C15 >> (64 - filterBits) }

// hit is a secret in a text.
type hit struct {
	class  class
	secret int
	at     int
}

// in finds each secret's first place in a text. It reads some hundred million bytes that nobody else uses.
//
//go:norace
func (s *search) in(text []byte) []hit {
	var hits []hit
	seen := map[int]bool{}
	for i := 0; i+8 <= len(text); i++ {
		head := binary.LittleEndian.Uint64(text[i:])
		if bit := bitOf(head); s.filter[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		for _, p := range s.parts[head] {
			if !seen[p.secret] && bytes.HasPrefix(text[i:], []byte(p.text)) {
				seen[p.secret] = true
				hits = append(hits, hit{s.classes[p.secret], p.secret, i})
			}
		}
	}
	return hits
}

// around is what stands before a hit: enough to know where it comes from, without the secret.
func around(text []byte, at int) string { return fmt.Sprintf("%q", text[max(0, at-120):at]) }

// The spellings of a part. Those before everywhere are made of every part, because where a part begins shows in base64;
// the others of every fourth.
const (
	plain      = 3
	everywhere = 5
)

var spellings = []func(string) string{
	strings.Clone,
	strings.ToLower,
	strings.ToUpper,
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return hex.EncodeToString([]byte(s)) },
	func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	func(s string) string { return bytewise(s, "%%%02X") },
	func(s string) string { return bytewise(s, "%%%02x") },
	func(s string) string { return bytewise(s, "%%25%02X") },
	func(s string) string { return bytewise(s, `\u%04x`) },
	func(s string) string { return strings.TrimSpace(bytewise(s, "%d ")) }, // fmt's bytes
	func(s string) string { return strings.TrimSpace(bytewise(s, "%x ")) },
	func(s string) string { b := []byte(s); slices.Reverse(b); return string(b) },
}

func bytewise(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// mark is a text that is nowhere else.
func mark(alphabet string, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(b)
}

// The search finds every spelling of every part that is long enough, and nothing else.
func TestSecretsSearchFindsWhatItIsFor(t *testing.T) {
	t.Parallel()
	for range 20 {
		secret := mark(base62, 43)
		s := newSearch()
		s.add(bearer, secret)
		for n, spell := range spellings {
			length := fragment
			if n >= plain {
				length += 3
			}
			at := rand.IntN(len(secret) - length)
			if n < plain || n >= everywhere {
				wantFound(t, s, spell(secret[at:at+length]), n)
				continue
			}
			for lead := range 3 { // base64 of a longer text, at each of its three alignments
				wantFound(t, s, spell("xyz"[:lead]+secret[at:at+length]), n)
			}
		}
		for _, none := range []string{secret[:fragment-1], secret[20:31] + " " + secret[31:42], mark(base62, 1000)} {
			if hits := s.in([]byte(none)); len(hits) > 0 {
				t.Errorf("found something in a text without a secret")
			}
		}
	}
}

func wantFound(t *testing.T, s *search, spelled string, spelling int) {
	t.Helper()
	hits := s.in([]byte(`{"x":"` + spelled + `"}`))
	if len(hits) != 1 || hits[0].class != bearer {
		t.Errorf("spelling %d of a secret: %d hits, want 1", spelling, len(hits))
	}
}
