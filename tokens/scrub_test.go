package tokens_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/tokens"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	const jwt = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln-_A"
	for text, want := range map[string]string{
		"":                                       "",
		"nothing to hide":                        "nothing to hide",
		golden:                                   "[redacted]",
		`{"url":"https://h/x/` + golden + `"}`:   `{"url":"https://h/x/[redacted]"}`,
		"a=" + golden + "&b=" + golden:           "a=[redacted]&b=[redacted]",
		"x" + golden + "-y":                      "x[redacted]-y",
		golden + "_tail " + golden:               "[redacted]_tail [redacted]",
		"fhk_fhk_" + golden:                      "fhk_fhk_[redacted]",
		"fha_12345678 fhe_abcdefgh":              "[redacted] [redacted]",
		"fge_12345678 fge_1234567 ffge_12345678": "[redacted] fge_1234567 f[redacted]",
		"fhk_1234567":                            "fhk_1234567",
		"fhk_1234567-8":                          "fhk_1234567-8",
		"fhk-12345678 fh1_12345678 FHK_12345678": "fhk-12345678 fh1_12345678 FHK_12345678",
		"fhk_":                                   "fhk_",
		"Bearer " + jwt + "\n":                   "Bearer [redacted]\n",
		"x" + jwt + ", next":                     "x[redacted], next",
		"eyJa.eyJb":                              "[redacted]",
		"eyJ.eyJ":                                "[redacted]",
		"eyJhbGciOiJFZERTQSJ9 alone":             "eyJhbGciOiJFZERTQSJ9 alone",
		"eyJa.b.eyJc.d":                          "eyJa.b.eyJc.d",
		"k=fhk_12345678eyJa.eyJb.c;":             "k=[redacted][redacted];",
		"eyJa.eyJfhk_12345678 é " + golden + "é": "[redacted] é [redacted]é",
	} {
		in := []byte(text)
		if got := string(tokens.Scrub(in)); got != want || string(in) != text {
			t.Errorf("Scrub(%q) = %q, want %q", text, got, want)
		}
	}
}

// Not parallel: it counts allocations of the whole process.
func TestScrubDoesNotCopyCleanLines(t *testing.T) {
	line := []byte(`{"level":"info","route":"/callbacks/flow/hooks/:token","token_id":"543b5e5e"}`)
	if n := testing.AllocsPerRun(10, func() { tokens.Scrub(line) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// What is found is compared with regular expressions, the plain statement of
// what must never reach a log.
func FuzzScrub(f *testing.F) {
	for _, seed := range []string{golden, "eyJa.eyJb.c", "fhk_12345678eyJa.eyJ", strings.Repeat("eyJfhk_", 50), "fhfhk_aaaaaaaa", "fgfge_aaaaaaaafge_bbbbbbbb", "\xff" + golden + "\x00"} {
		f.Add([]byte(seed))
	}
	secret := regexp.MustCompile(`(?:fh[A-Za-z]|fge)_[0-9A-Za-z]{8,}|eyJ[0-9A-Za-z_-]*\.eyJ`)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		out := tokens.Scrub(b)
		if !bytes.Equal(b, before) {
			t.Fatalf("the input changed: %q", before)
		}
		if secret.Match(out) {
			t.Fatalf("Scrub(%q) = %q", b, out)
		}
		if !secret.Match(b) && !bytes.Equal(out, b) {
			t.Fatalf("Scrub(%q) = %q, though there is nothing to hide", b, out)
		}
		if again := tokens.Scrub(out); !bytes.Equal(again, out) {
			t.Fatalf("scrubbed twice, %q is %q", out, again)
		}
	})
}

func BenchmarkScrub(b *testing.B) {
	line := []byte(strings.Repeat(`{"level":"info","route":"/callbacks/flow/hooks/:token","token_id":"543b5e5e"} `, 4))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		tokens.Scrub(line)
	}
}

func BenchmarkDigest(b *testing.B) {
	k := testKeyring(b)
	s := tokens.NewSecret(golden)
	for b.Loop() {
		k.Digest(s)
	}
}
