package tokens_test

import (
	"errors"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/tokens"
)

const golden = "fhk_7R45vahC06GeCCI5MXZyMHyO8iYtDvxu2UdxPhiTaHN0cAvpI"

// publicForm is what the documentation gives to secret scanners.
var publicForm = regexp.MustCompile(`^fhk_[0-9A-Za-z]{49}$`)

func TestMintedTokensParse(t *testing.T) {
	t.Parallel()
	k := testKeyring(t)
	rapid.Check(t, func(t *rapid.T) {
		b := tokens.Binding{Namespace: rapid.String().Draw(t, "ns"), RunID: rapid.String().Draw(t, "run"), HookID: rapid.String().Draw(t, "hook")}
		text := k.Mint(b, tokens.Nonce(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "nonce"))).Token.Reveal()
		if !publicForm.MatchString(text) {
			t.Fatalf("token %q has another form", text)
		}
		if s, err := tokens.Parse(text); err != nil || s.Reveal() != text {
			t.Fatalf("token %q: %v", text, err)
		}
	})
}

// Each changed token is refused offline, or, where the change made it a token of
// the host's form, is another token.
func TestEveryChangedCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	for i := range golden {
		for c := range 256 {
			changed := golden[:i] + string([]byte{byte(c)}) + golden[i+1:]
			if changed == golden {
				continue
			}
			s, err := tokens.Parse(changed)
			if err == nil && (i >= 4 || s.Reveal() != changed) {
				t.Errorf("%q parses", changed)
			}
			if err != nil && (!errors.Is(err, tokens.ErrMalformed) || !s.IsZero()) {
				t.Errorf("%q: %v, secret %q", changed, err, s.Reveal())
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for text, ok := range map[string]bool{
		golden:                               true,
		golden[:52]:                          false,
		golden + "0":                         false,
		golden + ".":                         false,
		golden + ">":                         false,
		golden + "/":                         false,
		" " + golden:                         false,
		golden + "\n":                        false,
		strings.ToUpper(golden):              true, // a host token of its own, unknown to the look-up
		"fhk_" + strings.ToLower(golden[4:]): false,
		"fha_" + golden[4:]:                  false,
		"fhs_" + golden[4:]:                  false,
		"fhK_" + golden[4:]:                  false,
		"fhk_":                               false,
		"fhk_" + x(22):                       false,
		"fhk_" + x(49):                       false,
		"fh1_" + x(30):                       true,
		"fh_" + x(30):                        true,
		"xfhk_" + x(30):                      true,
		"":                                   false,
		x(21):                                false,
		x(22):                                true,
		x(128):                               true,
		x(129):                               false,
		"AZaz09_-" + x(20):                   true,
		"%41" + x(30):                        false,
		x(21) + "é":                          false,
		x(22) + " ":                          false,
		x(22) + "\x00":                       false,
		"eyJ." + x(30):                       false,
	} {
		s, err := tokens.Parse(text)
		if (err == nil) != ok || ok && s.Reveal() != text || !ok && (!errors.Is(err, tokens.ErrMalformed) || !s.IsZero()) {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}

// A right checksum does not make a token of what has another form.
func TestChecksumAloneIsNotEnough(t *testing.T) {
	t.Parallel()
	sum := func(rest string) string {
		const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		out := make([]byte, 6)
		for i, n := 5, crc32.ChecksumIEEE([]byte(rest)); i >= 0; i, n = i-1, n/62 {
			out[i] = digits[n%62]
		}
		return rest + string(out)
	}
	body := golden[:47]
	if sum(body) != golden {
		t.Fatalf("this test's checksum is wrong: %s", sum(body))
	}
	for _, text := range []string{
		sum(body[:46]), sum(body + "x"), sum(body[:46] + "_"), sum(body[:46] + "-"), sum(body[:45] + "é"), sum(body[:46] + "/"),
		sum("fha_" + body[4:]),
	} {
		if s, err := tokens.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %q", text, s.Reveal())
		}
	}
}

func TestParseHost(t *testing.T) {
	t.Parallel()
	const (
		length   = "a token has 22 to 128 characters"
		alphabet = "a token has only the characters 0-9 A-Z a-z _ -"
		foreign  = "a token does not start with fge_, nor with fh, a letter and an underscore"
	)
	for text, rule := range map[string]string{
		strings.Repeat("a", 22):           "",
		strings.Repeat("-", 128):          "",
		"fh-k_" + strings.Repeat("a", 22): "",
		strings.Repeat("a", 21):           length,
		strings.Repeat("a", 129):          length,
		strings.Repeat("a", 21) + ".":     alphabet,
		strings.Repeat("é", 22):           alphabet,
		golden:                            foreign,
		"fha_" + strings.Repeat("a", 22):  foreign,
		"fhZ_" + strings.Repeat("a", 22):  foreign,
		"fge_" + strings.Repeat("a", 22):  foreign,
		"fgf_" + strings.Repeat("a", 22):  "",
	} {
		s, err := tokens.ParseHost(text)
		if rule == "" {
			if err != nil || s.Reveal() != text {
				t.Errorf("ParseHost(%q): %v", text, err)
			}
			continue
		}
		var te *tokens.TokenError
		if !errors.As(err, &te) || te.Rule != rule || !errors.Is(err, tokens.ErrMalformed) || !s.IsZero() {
			t.Errorf("ParseHost(%q): %v, want %q", text, err, rule)
			continue
		}
		if strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	for _, seed := range []string{golden, "fha_" + golden[4:], "", "fh", "fhk", "fhk_", "fge_" + golden[4:], strings.Repeat("a", 22), golden[:52] + "J", "\xff\xfe"} {
		f.Add(seed)
	}
	host := regexp.MustCompile(`^[0-9A-Za-z_-]{22,128}$`)
	ours := regexp.MustCompile(`^(?:fh[A-Za-z]|fge)_`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := tokens.Parse(text)
		_, hostErr := tokens.ParseHost(text)
		if isHost := host.MatchString(text) && !ours.MatchString(text); isHost != (hostErr == nil) {
			t.Fatalf("ParseHost(%q): %v", text, hostErr)
		}
		if err != nil {
			if !errors.Is(err, tokens.ErrMalformed) || !s.IsZero() || hostErr == nil {
				t.Fatalf("Parse(%q): %v", text, err)
			}
			return
		}
		if s.Reveal() != text {
			t.Fatalf("Parse(%q) reveals %q", text, s.Reveal())
		}
		if hostErr != nil && !publicForm.MatchString(text) {
			t.Fatalf("Parse(%q) takes what is neither form", text)
		}
	})
}
