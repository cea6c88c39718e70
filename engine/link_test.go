package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// routes creates hooks of every kind that a link may be asked for.
var routes = workflow{
	spec.WorkflowSpec{Name: "routes", Version: "1"},
	func(c *engine.Context) (engine.Decision, error) {
		return c.Await(
			c.CreateHook("plain"),
			c.CreateHook("routed", engine.Metadata(spec.HumanApproval("invoice 17").
				WithCallbackRoute(spec.PostRoute("/hooks/{token}/answer")).WithLabel("team", "a").WithData("amount", 12))),
			c.CreateHook("host", engine.Token(strings.Repeat("h", 30))),
			c.CreateHook("soon", engine.ExpiresAt(c.StartedAt().Add(time.Hour))),
		), nil
	},
}

func TestC58_LinksAreMadeFromConfigurationOnly(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	r := idle(t, testConfig(t, pool), routes).run()
	r.start(routes, "run", nil)
	r.waiting("run", "plain", "routed", "host", "soon")
	for base, want := range map[string]string{
		"https://flow.example.com":         "https://flow.example.com/callbacks/flow/hooks/",
		"https://flow.example.com/":        "https://flow.example.com/callbacks/flow/hooks/",
		"http://10.0.0.1:8080/a/prefix":    "http://10.0.0.1:8080/a/prefix/callbacks/flow/hooks/",
		"https://flow.example.com/prefix/": "https://flow.example.com/prefix/callbacks/flow/hooks/",
	} {
		cfg := testConfig(t, pool)
		cfg.PublicURL = base
		e := idle(t, cfg)
		plain := e.link("run", "plain")
		if got := plain.URL.Reveal(); got != want+plain.Token.Reveal() {
			t.Errorf("%s: the link has the form %s…", base, got[:min(len(got), len(want))])
		}
		if got := fmt.Sprintf("%v %+v %s %#v", plain, plain, plain.URL, plain); strings.Contains(got, plain.Token.Reveal()) {
			t.Error("a printed link shows its token")
		}
		routed := e.link("run", "routed")
		if got := routed.URL.Reveal(); !strings.HasSuffix(got, "/hooks/"+routed.Token.Reveal()+"/answer") {
			t.Errorf("%s: the route of the hook is not kept", base)
		}
	}
	cfg := testConfig(t, pool)
	cfg.PublicURL = ""
	if _, err := idle(t, cfg).HookLink(r.ctx(), "run", "plain"); !errors.Is(err, engine.ErrNoPublicURL) {
		t.Errorf("without a public URL: %v", err)
	}
	for _, bad := range []string{
		"flow.example.com", "/path", "ftp://x", "https://", "https://x?y", "https://x?", "https://x#y", "https://x#", "https://u:p@x",
		"https://u@x", "https:x", "ht tp://x", "//x/y",
	} {
		cfg.PublicURL = bad
		_, err := engine.New(r.ctx(), cfg)
		var invalid *engine.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "public_url" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestC66_LinkIsTheSameOnEveryCallAndForOneHook(t *testing.T) {
	t.Parallel()
	r := newRig(t, routes)
	r.start(routes, "run", nil)
	r.start(routes, "twin", nil) // its host token is taken
	r.waiting("run", "plain", "routed", "host", "soon")
	r.waiting("twin", "plain", "routed", "soon")
	first := r.link("run", "plain")
	r.stop()
	again := r.beside(routes)
	if !again.link("run", "plain").Token.Equal(first.Token) || again.link("run", "plain").URL.Reveal() != first.URL.Reveal() {
		t.Error("another process makes another link")
	}
	seen := map[string]bool{}
	for _, run := range []spec.RunID{"run", "twin"} {
		for _, id := range []spec.HookID{"plain", "routed", "soon"} {
			l := again.link(run, id)
			seen[l.Token.Reveal()] = true
			receipt, err := again.callback(l.Token.Reveal(), 1)
			if err != nil || receipt.Run.RunID != run || receipt.HookID != id {
				t.Errorf("the token of %s %s resolved %+v, %v", run, id, receipt, err)
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("6 hooks have %d tokens", len(seen))
	}
}

func TestLinkRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, routes)
	r.start(routes, "run", nil)
	r.waiting("run", "plain", "routed", "host", "soon")
	ctx := r.ctx()
	if _, err := r.HookLink(ctx, "run", "host"); !errors.Is(err, engine.ErrTokenNotMinted) || engine.VerdictOf(err) != engine.VerdictConflict {
		t.Errorf("host token: %v", err)
	}
	if _, err := r.HookLink(ctx, "run", "none"); !errors.Is(err, engine.ErrHookNotFound) {
		t.Errorf("unknown hook: %v", err)
	}
	if _, err := r.HookLink(ctx, "", "plain"); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("empty run: %v", err)
	}
	if l := r.link("run", "soon"); l.ExpiresAt == nil || len(l.TokenID) != 8 {
		t.Errorf("link %+v", l)
	}
	if _, err := r.resume("run", "plain", 1); err != nil {
		t.Fatal(err)
	}
	var conflict *engine.HookConflictError
	if _, err := r.HookLink(ctx, "run", "plain"); !errors.As(err, &conflict) {
		t.Errorf("answered hook: %v", err)
	}
	if _, err := r.DisposeHook(ctx, engine.HookRequest{RunID: "run", HookID: "routed"}); err != nil {
		t.Fatal(err)
	}
	var closed *engine.HookClosedError
	if _, err := r.HookLink(ctx, "run", "routed"); !errors.As(err, &closed) || closed.Cause != "disposed" {
		t.Errorf("disposed hook: %v", err)
	}
	if _, err := r.Cancel(ctx, engine.CancelRequest{RunID: "run"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.HookLink(ctx, "run", "soon"); !errors.As(err, &closed) || closed.Cause != "cancelled" {
		t.Errorf("cancelled hook: %v", err)
	}
}

func TestHooksAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t, routes)
	r.start(routes, "run", nil)
	r.waiting("run", "plain", "routed", "host", "soon")
	token := r.link("run", "routed").Token.Reveal()
	got, err := r.Hook(r.ctx(), "run", "routed")
	if err != nil {
		t.Fatal(err)
	}
	want := engine.HookView{
		RunID: "run", HookID: "routed", Name: "routed", State: "active", Kind: "human_approval", Subject: "invoice 17",
		Labels: spec.Labels{"team": "a"}, Data: map[string]any{"amount": 12.0},
		Route: &spec.CallbackRoute{Method: "POST", Path: "/hooks/{token}/answer"}, CreatedAt: got.CreatedAt, Age: got.Age,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	page, err := r.ListHooks(r.ctx(), engine.HookQuery{Labels: spec.Labels{"team": "a"}})
	if err != nil || len(page.Items) != 1 || page.Items[0].HookID != "routed" {
		t.Errorf("by label: %+v, %v", page, err)
	}
	shown := string(encode(t, []any{got, page, r.events("run"), r.snapshot("run")}))
	for _, secret := range []string{token, strings.Repeat("h", 30)} {
		if strings.Contains(shown, secret) {
			t.Error("a token is shown")
		}
	}
	if _, err := r.ListHooks(r.ctx(), engine.HookQuery{RunID: "nope"}); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("hooks of no run: %v", err)
	}
	for _, q := range []engine.HookQuery{{State: "open"}, {Limit: 201}, {Limit: -1}, {Cursor: "?"}, {OlderThan: -1}, {Labels: spec.Labels{"": ""}}} {
		if _, err := r.ListHooks(r.ctx(), q); engine.VerdictOf(err) != engine.VerdictInvalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestTakenTokenIsABranch(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "claim", Version: "1"},
		func(c *engine.Context) (engine.Decision, error) {
			if r, refused := c.HookRejected("h"); refused {
				return c.Complete(map[string]any{"reason": r.Reason, "owner": r.OwnerRun}), nil
			}
			return c.CreateHook("h", engine.Token("one-token-for-all-of-them")), nil
		},
	}
	r := newRig(t, w)
	r.start(w, "owner", nil)
	r.waiting("owner", "h")
	r.start(w, "late", nil)
	if out := r.completed("late"); out != `{"owner":"owner","reason":"taken"}` {
		t.Errorf("output %s", out)
	}
	other, err := r.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Start(r.ctx(), engine.StartRequest{Workflow: "claim", RunID: "foreign"}); err != nil {
		t.Fatal(err)
	}
	if s, err := other.Wait(r.ctx(), "foreign"); err != nil || string(s.Output) != `{"owner":"","reason":"taken"}` {
		t.Errorf("in another namespace: %s, %v", s.Output, err)
	}
	if v := verdict(r.callback("one-token-for-all-of-them", 1)); v != engine.VerdictAccepted {
		t.Errorf("the owner's hook: %s", v)
	}
}

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	r := idle(t, testConfig(t, pool), routes).run()
	r.start(routes, "run", nil)
	r.waiting("run", "plain", "routed", "host", "soon")
	cfg := testConfig(t, pool)
	cfg.Keys = ringWith(t, "k1", "x")
	var mismatch *db.KeyMismatchError
	if _, err := engine.New(r.ctx(), cfg); !errors.As(err, &mismatch) {
		t.Errorf("another key under the ID: %v", err)
	}
	cfg.Keys = ringWith(t, "k2", "x")
	var missing *db.KeyMissingError
	if _, err := engine.New(r.ctx(), cfg); !errors.As(err, &missing) {
		t.Errorf("a key that hooks need is gone: %v", err)
	}
}
