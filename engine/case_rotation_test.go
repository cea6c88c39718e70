package engine_test

import (
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// ringOf has one mint key and these digest keys, the current one first.
func ringOf(t testing.TB, digest ...string) *tokens.Keyring {
	t.Helper()
	key := func(id string) tokens.Key { return tokens.Key{ID: id, Secret: []byte(strings.Repeat(id, 16))} }
	var keys []tokens.Key
	for _, id := range digest {
		keys = append(keys, key(id))
	}
	ring, err := tokens.NewKeyring([]tokens.Key{key("m1")}, keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// A token of the host that a hook took before the digest keys were rotated is taken: a second hook that could never be
// answered does not look open.
func TestHostTokenStaysTakenOverARotationOfKeys(t *testing.T) {
	t.Parallel()
	const token = "one-token-for-all-of-them"
	w := workflow{
		spec.WorkflowSpec{Name: "claim", Version: "1"},
		func(c *engine.Context) (engine.Decision, error) {
			if r, refused := c.HookRejected("h"); refused {
				return c.Complete(map[string]any{"reason": r.Reason, "owner": r.OwnerRun}), nil
			}
			if p, ok, err := engine.HookPayload[int](c, "h"); ok || err != nil {
				return c.Complete(p), err
			}
			return c.CreateHook("h", engine.Token(token)), nil
		},
	}
	pool := pgtest.New(t)
	process := func(keys ...string) *rig {
		cfg := testConfig(t, pool)
		cfg.Keys = ringOf(t, keys...)
		return idle(t, cfg, w).run()
	}
	before := process("k1")
	before.start(w, "owner", nil)
	before.waiting("owner", "h")
	before.stop()
	after := process("k2", "k1")
	after.start(w, "late", nil)
	if out := after.completed("late"); out != `{"owner":"owner","reason":"taken"}` {
		t.Errorf("output %s", out)
	}
	after.stop()
	slow := process("k1", "k2") // another process, which still has the old key first
	slow.start(w, "later", nil)
	if out := slow.completed("later"); out != `{"owner":"owner","reason":"taken"}` {
		t.Errorf("output %s", out)
	}
	if receipt, err := slow.callback(token, 7); err != nil || receipt.Run.RunID != "owner" {
		t.Errorf("%+v %v", receipt, err)
	}
	if out := slow.completed("owner"); out != "7" {
		t.Errorf("output %s", out)
	}
}
