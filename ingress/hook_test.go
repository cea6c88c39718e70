package ingress

import (
	"errors"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// A hook that asks for a signature is proved one by the secrets of its own source, in its own namespace, at the time.
func TestVerifyHook(t *testing.T) {
	t.Parallel()
	c, now := testConfig(t), recordedAt
	r := New(c, Options{Clock: func() time.Time { return now }})
	const name = "standard-webhooks"
	ns, signed := c.sources[name].mapping.Namespace(), good(t, name)
	ask := func(from string, ns spec.Namespace, header map[string][]string, body string) error {
		return r.VerifyHook(t.Context(), from, ns, header, []byte(body))
	}
	body := string(signed.Body)
	if err := ask(name, ns, signed.Header, body); err != nil {
		t.Errorf("a good signature: %v", err)
	}
	for what, err := range map[string]error{
		"an unknown source": ask("nobody", ns, signed.Header, body),
		"another namespace": ask(name, ns+"x", signed.Header, body),
	} {
		if !errors.Is(err, ErrSourceNotFound) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	c.sources["open"] = &source{mapping: c.sources[name].mapping}
	for what, tt := range map[string]struct {
		err  error
		want Reason
	}{
		"nothing signed":        {ask(name, ns, nil, body), ReasonAbsent},
		"one byte more":         {ask(name, ns, signed.Header, body+" "), ReasonMismatch},
		"another source's":      {ask("stripe", ns, signed.Header, body), ReasonAbsent},
		"a source of no secret": {ask("open", ns, signed.Header, body), ReasonNoSecret},
	} {
		if got := reasonOf(t, tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", what, got, tt.want)
		}
	}
	now = now.Add(time.Hour)
	if got := reasonOf(t, ask(name, ns, signed.Header, body)); got != ReasonStale {
		t.Errorf("an hour later: got %q", got)
	}
}
