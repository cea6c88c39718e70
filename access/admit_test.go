package access

import (
	"errors"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/tokens"
)

// Every look-up of an API key is asked for, by a name that no hook's token has; what is known to be wrong, or needs no look-up,
// is not. What is not admitted is not looked up.
func TestVerifyAdmitted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	key, secret := r.create(nil)
	exchanged := r.exchange(ExchangeRequest{Credential: secret}).Token.Reveal()
	for _, tc := range []struct {
		what, credential string
		want             []string
	}{
		{"an API key", secret, []string{secret}},
		{"its token", exchanged, []string{"key:" + key.ID}},
		{"a mangled key", flip(secret), nil},
		{"a mangled token", exchanged[:len(exchanged)-8] + "AAAAAAAA", nil},
		{"an issuer's token", r.token(nil, nil), nil},
	} {
		var asked []string
		_, _ = r.VerifyAdmitted(t.Context(), tc.credential, func(name string) error { asked = append(asked, name); return nil })
		if !slices.Equal(asked, tc.want) {
			t.Errorf("%s: asked for %q", tc.what, asked)
		}
		for _, name := range asked {
			if _, err := tokens.Parse(name); err == nil {
				t.Errorf("%s: asked for what may be a hook's token", tc.what)
			}
		}
	}
	full := errors.New("full")
	r.keys.store = nil
	for _, credential := range []string{secret, exchanged} {
		p, err := r.VerifyAdmitted(t.Context(), credential, func(string) error { return full })
		if !errors.Is(err, full) || p.Namespace != "" {
			t.Errorf("got %+v %v", p, err)
		}
		if _, err := r.Exchange(t.Context(), ExchangeRequest{Credential: credential, Admit: func(string) error { return full }}); !errors.Is(err, full) {
			t.Errorf("exchange: %v", err)
		}
	}
}
