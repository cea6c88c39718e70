package engine_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/tokens"
)

// The form of a page holds for that page, for what it showed and what it is bound to, and for a quarter of an hour.
func TestPageForm(t *testing.T) {
	t.Parallel()
	now := time.Now()
	pool := pgtest.New(t)
	ring := func(ids ...string) *tokens.Keyring {
		var keys []tokens.Key
		for _, id := range ids {
			keys = append(keys, tokens.Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), 32)})
		}
		ring, err := tokens.NewKeyring(keys, keys)
		if err != nil {
			t.Fatal(err)
		}
		return ring
	}
	at := func(d time.Duration, ids ...string) *rig {
		cfg := testConfig(t, pool)
		cfg.Keys, cfg.Clock = ring(ids...), func() time.Time { return now.Add(d) }
		return idle(t, cfg)
	}
	r := at(0, "old", "next")
	shown := [32]byte{1, 2, 3}
	nonce := r.NewPageForm("token", shown, "bound")
	for _, tc := range []struct {
		name                string
		r                   *rig
		token, nonce, bound string
		good                bool
	}{
		{"itself", r, "token", nonce, "bound", true},
		{"another process, after a rotation", at(14*time.Minute, "next", "old"), "token", nonce, "bound", true},
		{"a clock that is behind", at(-59*time.Second, "old", "next"), "token", nonce, "bound", true},
		{"too old", at(15*time.Minute+time.Second, "old", "next"), "token", nonce, "bound", false},
		{"of the future", at(-61*time.Second, "old", "next"), "token", nonce, "bound", false},
		{"another page", r, "tokeo", nonce, "bound", false},
		{"bound to something else", r, "token", nonce, "", false},
		{"none", r, "token", "", "bound", false},
		{"junk", r, "token", "!!", "bound", false},
		{"cut off", r, "token", nonce[:len(nonce)-1], "bound", false},
		{"longer", r, "token", nonce + "AAAA", "bound", false},
		{"changed", r, "token", "B" + nonce[1:], "bound", false},
	} {
		got, err := tc.r.OpenPageForm(tc.token, tc.nonce, tc.bound)
		if tc.good && (err != nil || got != shown) || !tc.good && !errors.Is(err, engine.ErrPageForm) {
			t.Errorf("%s: %v %v", tc.name, got, err)
		}
	}
}

// A process that lacks the keys of pages does not start.
func TestPages_need_their_keys(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	r.asksFor("run", asksInput{})
	r.page("run", "ada")
	if _, err := r.pool.Exec(r.ctx(), `update pages set mint_key = 'gone'`); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.New(r.ctx(), testConfig(t, r.pool)); err == nil || !strings.Contains(err.Error(), `mint key "gone"`) {
		t.Errorf("started: %v", err)
	}
	if _, err := r.PageLink(r.ctx(), "run", "h", "ada"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a link without its key: %v", err)
	}
}
