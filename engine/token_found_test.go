package engine_test

import (
	"errors"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Found hears of a token that is there, and only of that, before anything happens; what it says is the answer.
func TestTokenRequest_Found(t *testing.T) {
	t.Parallel()
	r := newRig(t, ask)
	r.start(ask, "run", "")
	r.waiting("run", "h")
	token := r.link("run", "h").Token.Reveal()
	refusal := errors.New("not now")
	var found []spec.Namespace
	refuse := func(ns spec.Namespace) error { found = append(found, ns); return refusal }

	for _, junk := range []string{"", "junk", token + "0", unknownToken(t)} {
		_, err := r.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: junk, Payload: []byte("1"), Found: refuse})
		if !errors.Is(err, engine.ErrTokenNotFound) || len(found) > 0 {
			t.Errorf("%d bytes: got %v, found in %q", len(junk), err, found)
		}
	}
	for _, use := range []func() (engine.Receipt, error){
		func() (engine.Receipt, error) {
			return r.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Payload: []byte("1"), Found: refuse})
		},
		func() (engine.Receipt, error) {
			return r.DisposeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Found: refuse})
		},
	} {
		found = nil
		if _, err := use(); !errors.Is(err, refusal) || len(found) != 1 || found[0] != spec.DefaultNamespace {
			t.Errorf("got %v, found in %q", err, found)
		}
	}
	if h, err := r.Hook(r.ctx(), "run", "h"); err != nil || h.State != "active" {
		t.Errorf("the hook is %s, %v", h.State, err)
	}
	allow := func(spec.Namespace) error { return nil }
	got, err := r.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Payload: []byte("1"), Found: allow})
	if err != nil || got.Verdict != engine.VerdictAccepted {
		t.Errorf("got %s, %v", got.Verdict, err)
	}
}

// unknownToken has the form of a minted token and belongs to no hook.
func unknownToken(t *testing.T) string {
	t.Helper()
	other := newRig(t, ask)
	other.start(ask, "other", "")
	other.waiting("other", "h")
	return other.link("other", "h").Token.Reveal()
}
