package db

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func digestUnder(key, token string) history.TokenDigest {
	return sha256.Sum256([]byte(key + " " + token))
}

// hookUnder is a hook with a host-supplied token, of a process that has these digest keys loaded, the current one first.
func hookUnder(id, token string, keys ...string) history.Command {
	c := &history.CreateHook{
		ID: spec.HookID(id), Grant: history.TokenGrant{Digest: digestUnder(keys[0], token), DigestKey: keys[0]},
	}
	for _, key := range keys {
		c.HostDigests = append(c.HostDigests, digestUnder(key, token))
	}
	return c
}

// claims opens a hook and, when it is rejected, fails with the words of the rejection.
func claims(c history.Command) author {
	return func(s *history.State) history.Decision {
		if h := s.Hook(c.(*history.CreateHook).ID); h.Rejected != nil {
			return decide(&history.Fail{Message: fmt.Sprintf("%s by %q", h.Rejected.Reason, h.Rejected.OwnerRun)})
		}
		return decide(c)
	}
}

// A token is taken, whichever of the loaded digest keys it stands under.
func TestTokenUnderAnotherKeyIsTaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		owner, late []string
		namespace   spec.Namespace
		want        string
	}{
		"under the key before":     {[]string{"k1"}, []string{"k2", "k1"}, "default", `taken by "owner"`},
		"under a key to come":      {[]string{"k2", "k1"}, []string{"k1", "k2"}, "default", `taken by "owner"`},
		"two rotations ago":        {[]string{"k1"}, []string{"k3", "k2", "k1"}, "default", `taken by "owner"`},
		"of another namespace":     {[]string{"k1"}, []string{"k2", "k1"}, "other", `taken by ""`},
		"under the same key still": {[]string{"k2", "k1"}, []string{"k2", "k1"}, "default", `taken by "owner"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := running(t)
			r.ok(r.startOf("owner"))
			r.drain(by(claims(hookUnder("h", "token", tt.owner...))))
			m := r.startOf("late")
			m.Run.Namespace = tt.namespace
			r.ok(m)
			r.ok(r.startOf("bystander"))
			r.drain(only("bystander", claims(hookUnder("h", "free", "k2", "k1")), claims(hookUnder("h", "token", tt.late...))))
			if v, err := r.ReadRun(t.Context(), m.Run); err != nil || v.Error != tt.want {
				t.Errorf("%s %q %v, want %q", v.Status, v.Error, err, tt.want)
			}
			if n := value[int](r, `select count(*) from hooks`); n != 2 {
				t.Errorf("%d hooks are stored, want those of owner and bystander", n)
			}
			r.folded("owner", "bystander")
		})
	}
}

// The same hook of an earlier generation has the token under another key: it is the ID that was used.
func TestHookIDOfAnEarlierGenerationUnderAnotherKey(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	code := func(s *history.State) history.Decision {
		if s.Generation() == 1 {
			return decide(hookUnder("h", "token", "k1"), &history.WithdrawHook{ID: "h"}, &history.ContinueAsNew{Input: null})
		}
		return claims(hookUnder("h", "token", "k2", "k1"))(s)
	}
	r.drain(by(code))
	if v := r.view("a"); v.Error != `id_used by ""` {
		t.Errorf("%s %q", v.Status, v.Error)
	}
	r.folded("a")
}

// heldToken is a token that sorts behind another one, held by a transaction that has not committed.
func (r *acceptRig) heldToken(behind history.TokenDigest, key string) (token string, release func()) {
	r.t.Helper()
	digest := behind
	for i := 0; bytes.Compare(digest[:], behind[:]) <= 0; i++ {
		token = fmt.Sprint("held", i)
		digest = digestUnder(key, token)
	}
	tx := r.begin()
	if _, err := tx.Exec(r.t.Context(), `insert into hooks (run, namespace, hook_id, name, metadata, token_digest, digest_key, state, created_at)
		select id, namespace, 'x', 'x', '{}', $1, 'k', 'active', now() from runs where run_id = 'holder'`, digest[:]); err != nil {
		r.t.Fatal(err)
	}
	return token, func() {
		if err := tx.Rollback(r.t.Context()); err != nil {
			r.t.Error(err)
		}
	}
}

// In the middle of a rotation two processes, each with a current key of its own, claim one token at the same moment: one of
// them has it.
func TestTokenClaimedUnderTwoKeysAtOnce(t *testing.T) {
	t.Parallel()
	r := running(t)
	for _, id := range []string{"holder", "a", "b"} {
		m := r.startOf(id)
		m.Version = id
		r.ok(m)
	}
	held, release := r.heldToken(digestUnder("k1", "token"), "k1")
	start := func(run string, code author) <-chan error {
		ended := make(chan error, 1)
		s := r.open(r.pool)
		a := by(code)
		a.Codes = []Code{{Workflow: "invoice", Version: run}}
		go func() {
			for {
				done, err := s.Advance(t.Context(), a)
				if err != nil || done.Claimed == 0 {
					ended <- err
					return
				}
			}
		}()
		return ended
	}
	waiting := func(event string) int {
		return value[int](r, `select count(*) from pg_stat_activity where datname = current_database() and wait_event = $1`, event)
	}
	a := start("a", func(*history.State) history.Decision {
		return decide(hookUnder("h", "token", "k1", "k2"), hookUnder("z", held, "k1"))
	})
	r.until("a has the token and waits for another one", func() bool { return waiting("transactionid") == 1 })
	b := start("b", claims(hookUnder("h", "token", "k2", "k1")))
	r.until("b waits for a, or has the token as well", func() bool { return waiting("advisory") == 1 || len(b) == 1 })
	release()
	for _, ended := range []<-chan error{a, b} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if v := r.view("b"); v.Error != `taken by "a"` {
		t.Errorf("%s %q", v.Status, v.Error)
	}
	r.folded("a", "b")
}
