package db

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func key(kind KeyKind, id, check string) KeyCheck {
	return KeyCheck{Kind: kind, ID: id, Check: []byte(check)}
}

func TestCheckKeys(t *testing.T) {
	t.Parallel()
	r := running(t)
	d1, d2, m1, m2 := key(DigestKey, "d1", "a"), key(DigestKey, "d2", "b"), key(MintKey, "m1", "c"), key(MintKey, "m2", "d")
	check := func(want error, loaded ...KeyCheck) {
		t.Helper()
		err := r.CheckKeys(t.Context(), loaded)
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
	stored := func() int { return value[int](r, `select count(*) from keys`) }
	check(nil)
	check(nil, d1, m1)
	check(nil, d1, m1) // a restart
	check(nil, d1, d2, m1, m2)
	check(nil, d2) // nothing uses the others
	check(&KeyMismatchError{DigestKey, "d1"}, key(DigestKey, "d1", "other"), d2, key(MintKey, "m3", "new"))
	check(&KeyMismatchError{MintKey, "m1"}, d1, key(MintKey, "m1", "other"))
	if n := stored(); n != 4 {
		t.Errorf("%d keys are stored; a refused process must leave none", n)
	}
	r.ok(r.startOf("a"))
	r.hook("a", "h1", nil)
	r.hook("a", "h2", nil)
	r.hook("a", "h3", nil)
	r.sql(`update hooks set digest_key = 'd1'`)
	r.sql(`update hooks set digest_key = 'd2', mint_key = 'm2', nonce = 'n' where hook_id = 'h2'`)
	r.sql(`update hooks set mint_key = 'm1', nonce = 'n', state = 'expired', resolved_at = now() where hook_id = 'h3'`)
	check(nil, d1, d2, m1, m2)
	check(nil, d1, d2, m1, m2, key(DigestKey, "d3", "x"))
	check(&KeyMissingError{DigestKey, "d1"}, d2, m1, m2)
	check(&KeyMissingError{DigestKey, "d2"}, d1, m1, m2)
	check(&KeyMissingError{MintKey, "m1"}, d1, d2, m2) // also when its hook is settled
	check(&KeyMissingError{MintKey, "m2"}, d1, d2, m1)
	check(&KeyMissingError{DigestKey, "d1"}, key(MintKey, "d1", "x"), d2, m1, m2) // kinds are apart
}

// Of two processes that bring another key under the same new ID at once, one is refused.
func TestCheckKeysAtOnce(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	var refused int
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := r.CheckKeys(t.Context(), []KeyCheck{key(MintKey, "m", fmt.Sprint(i)), key(DigestKey, "d", "same")})
			if _, mismatch := errors.AsType[*KeyMismatchError](err); mismatch {
				mu.Lock()
				refused++
				mu.Unlock()
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if refused != 7 {
		t.Errorf("%d of 8 were refused, want 7", refused)
	}
}
