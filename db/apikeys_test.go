package db

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func apiKey(n int) APIKey {
	return APIKey{
		ID: fmt.Sprintf("key_%03d", n), Digest: []byte(fmt.Sprintf("%032d", n)), DigestKey: "d1", Namespace: "acme",
		Name: "ci", Scopes: []string{"runs:read"}, CreatedAt: time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC),
	}
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	at := func(seconds int) time.Time { return time.Date(2026, 2, 1, 0, 0, seconds, 0, time.UTC) }
	plain, narrow, silent := apiKey(1), apiKey(2), apiKey(3)
	expires := at(0)
	narrow.RunID, narrow.HookID, narrow.Signals, narrow.ExpiresAt, narrow.Namespace = "r", "h", []string{"go", "stop"}, &expires, "other"
	silent.Signals = []string{}
	for _, k := range []APIKey{plain, narrow, silent} {
		if err := r.InsertAPIKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	same := func(what string, got APIKey, err error, want APIKey) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", what, err, diff)
		}
	}
	for _, k := range []APIKey{plain, narrow, silent} { // nil and empty constraints are kept apart
		got, err := r.APIKeyByDigest(t.Context(), [][]byte{[]byte(strings.Repeat("x", 32)), k.Digest})
		same("by digest", got, err, k)
		got, err = r.APIKeyByID(t.Context(), k.ID)
		same("by ID", got, err, k)
	}
	for _, err := range []error{
		errOf(r.APIKeyByDigest(t.Context(), [][]byte{[]byte(strings.Repeat("x", 32))})),
		errOf(r.APIKeyByDigest(t.Context(), nil)),
		errOf(r.APIKeyByID(t.Context(), "key_unknown")),
		errOf(r.RevokeAPIKey(t.Context(), "key_unknown", at(0))),
	} {
		if !errors.Is(err, ErrAPIKeyNotFound) {
			t.Errorf("got %v", err)
		}
	}
	if err := r.InsertAPIKey(t.Context(), plain); err == nil {
		t.Error("an ID is stored twice")
	}

	for _, touch := range []struct{ used, before, want int }{{10, 0, 10}, {20, 9, 10}, {70, 10, 70}} {
		if err := r.TouchAPIKey(t.Context(), plain.ID, at(touch.used), at(touch.before)); err != nil {
			t.Fatal(err)
		}
		want := at(touch.want)
		plain.LastUsedAt = &want
		got, err := r.APIKeyByID(t.Context(), plain.ID)
		same("touched", got, err, plain)
	}
	first := at(80)
	plain.RevokedAt = &first
	for _, second := range []int{80, 90} {
		got, err := r.RevokeAPIKey(t.Context(), plain.ID, at(second))
		same("revoked", got, err, plain)
	}

	page, err := r.ListAPIKeys(t.Context(), "", "key_001", 10)
	if diff := cmp.Diff([]APIKey{narrow, silent}, page); err != nil || diff != "" {
		t.Errorf("list: %v %s", err, diff)
	}
	page, err = r.ListAPIKeys(t.Context(), "acme", "", 1)
	if diff := cmp.Diff([]APIKey{plain}, page); err != nil || diff != "" {
		t.Errorf("list of one namespace: %v %s", err, diff)
	}
}

func errOf[T any](_ T, err error) error { return err }

// Look-ups that go together get each its own answer.
func TestAPIKeyLookUpsTogether(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	for n := range 50 {
		if err := r.InsertAPIKey(t.Context(), apiKey(n)); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for i := range 400 {
		group.Go(func() {
			k, err := r.APIKeyByDigest(t.Context(), [][]byte{apiKey(i % 100).Digest})
			if i%100 < 50 && (err != nil || k.ID != apiKey(i%100).ID) || i%100 >= 50 && !errors.Is(err, ErrAPIKeyNotFound) {
				t.Errorf("key %d: %q %v", i%100, k.ID, err)
			}
		})
	}
	group.Wait()
}

// The keys that sign and those of API keys are checked as those of hooks are. Processes that know no API keys need none of
// theirs; an API key is not made with keys that the processes with hooks do not have.
func TestCheckAccessKeys(t *testing.T) {
	t.Parallel()
	r := running(t)
	d1, d2, s1 := key(DigestKey, "d1", "a"), key(DigestKey, "d2", "b"), key(SignKey, "s1", "c")
	check := func(want error, loaded ...KeyCheck) {
		t.Helper()
		err := r.CheckAccessKeys(t.Context(), loaded)
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
	check(nil, d1, s1)
	check(nil, d2, s1) // no API key needs d1
	check(&KeyMismatchError{SignKey, "s1"}, d1, key(SignKey, "s1", "other"))
	check(&KeyMismatchError{DigestKey, "d1"}, key(DigestKey, "d1", "other"))
	past := time.Now().Add(-time.Hour)
	expired, revoked := apiKey(1), apiKey(2)
	expired.DigestKey, expired.ExpiresAt, revoked.DigestKey = "d8", &past, "d9"
	for _, k := range []APIKey{expired, revoked, apiKey(3)} {
		if err := r.InsertAPIKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.RevokeAPIKey(t.Context(), revoked.ID, past); err != nil {
		t.Fatal(err)
	}
	check(nil, d1, d2)
	check(&KeyMissingError{DigestKey, "d1"}, d2, s1)
	if err := r.CheckKeys(t.Context(), []KeyCheck{d2}); err != nil {
		t.Errorf("hooks need no key of API keys: %v", err)
	}
	r.ok(r.startOf("a"))
	r.hook("a", "h", nil)
	r.sql(`update hooks set digest_key = 'd2'`)
	check(nil, d1, d2)
	check(&KeyMissingError{DigestKey, "d2"}, d1, key(DigestKey, "d3", "wrong"))
	kinds := value[[]string](r, `select array_agg(kind order by kind, key_id) from keys`)
	if !slices.Equal(kinds, []string{"digest", "digest", "sign"}) { // and d3 is not remembered
		t.Errorf("stored: %v", kinds)
	}
}
