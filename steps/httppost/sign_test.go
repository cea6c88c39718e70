package httppost_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/flowgate-go/flowgate/steps/httppost"
	"github.com/flowgate-go/flowgate/tokens"
)

func signing(secrets ...string) map[string]httppost.Signing {
	s := httppost.Signing{Scope: httppost.Scope{Hosts: []string{"127.0.0.1"}}}
	for _, text := range secrets {
		s.Secrets = append(s.Secrets, tokens.NewSecret(text))
	}
	return map[string]httppost.Signing{"billing": s}
}

func verify(t *testing.T, secret string, r received) error {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return w.Verify(r.body, r.header)
}

func TestReceiversVerifyTheSignature(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := r.reaching()
	c.Signing = signing(oldKey)
	p := newPoster(t, c)
	if _, err := do(t, p, httppost.Input{URL: r.URL, Body: map[string]any{"amount": 1, "note": "ü <&>"}, SignWith: "billing"}); err != nil {
		t.Fatal(err)
	}
	got := r.requests()[0]
	if err := verify(t, oldKey, got); err != nil {
		t.Error(err)
	}
	if err := verify(t, newKey, got); !errors.Is(err, standardwebhooks.ErrNoMatchingSignature) {
		t.Errorf("another secret: %v", err)
	}
	got.body = append(got.body, ' ')
	if err := verify(t, oldKey, got); !errors.Is(err, standardwebhooks.ErrNoMatchingSignature) {
		t.Errorf("another body: %v", err)
	}
}

// While secrets rotate, receivers that know the old, the new or both accept the same request.
func TestRotationHasNoGap(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	for _, stage := range []struct {
		active   []string
		old, new bool
	}{
		{[]string{oldKey}, true, false},
		{[]string{newKey, oldKey}, true, true},
		{[]string{newKey}, false, true},
	} {
		c := r.reaching()
		c.Signing = signing(stage.active...)
		if _, err := do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1, SignWith: "billing"}); err != nil {
			t.Fatal(err)
		}
		all := r.requests()
		got := all[len(all)-1]
		if n := len(strings.Fields(got.header.Get("webhook-signature"))); n != len(stage.active) {
			t.Errorf("%d signatures for %d secrets", n, len(stage.active))
		}
		if verify(t, oldKey, got) == nil != stage.old || verify(t, newKey, got) == nil != stage.new {
			t.Errorf("with %d secrets: old %v, new %v", len(stage.active), verify(t, oldKey, got), verify(t, newKey, got))
		}
	}
}

func TestAttemptsHaveOneIDAndTheirOwnTimes(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	now := time.Unix(1_790_000_000, 0)
	c := r.reaching()
	c.Signing, c.UserAgent = signing(newKey), "Acme/1"
	c.Now = func() time.Time { now = now.Add(time.Minute); return now }
	p := newPoster(t, c)
	for attempt := 1; attempt <= 3; attempt++ {
		_, err := doIn(t.Context(), p, stepOf(t, httppost.Input{URL: r.URL, Body: 1, SignWith: "billing"}, attempt))
		wantFailure(t, err, httppost.CodeServer, false)
	}
	times := map[string]bool{}
	for _, got := range r.requests() {
		for name, want := range map[string]string{
			"webhook-id": key, "Idempotency-Key": key, "User-Agent": "Acme/1", "Content-Type": "application/json",
		} {
			if all := got.header.Values(name); len(all) != 1 || all[0] != want {
				t.Errorf("%s is %q, want %q", name, all, want)
			}
		}
		stamp := got.header.Get("webhook-timestamp")
		if _, err := strconv.ParseInt(stamp, 10, 64); err != nil || times[stamp] {
			t.Errorf("webhook-timestamp %q: %v, or there before", stamp, err)
		}
		times[stamp] = true
	}
	if len(times) != 3 {
		t.Errorf("%d requests", len(times))
	}
}

func TestMessageIDOfTheWorkflow(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := r.reaching()
	c.Signing = signing(newKey)
	out, err := do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1, SignWith: "billing", MessageID: "msg_42"})
	if err != nil {
		t.Fatal(err)
	}
	got := r.requests()[0]
	if got.header.Get("webhook-id") != "msg_42" || got.header.Get("Idempotency-Key") != key || out.MessageID != "msg_42" {
		t.Errorf("%v, output %+v", got.header, out)
	}
	if err := verify(t, newKey, got); err != nil {
		t.Error(err)
	}
}
