package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/tokens"
)

// C67: 1,000 tokens are used in every way, well and badly, while the database fails and workflow code gives away what it
// knows. Then they, and marked payloads, are searched for in all that the processes said at the most talkative level, in
// everything they answered, in the database and its files, in what the database server wrote and showed, and in dumps of
// a process. They are nowhere but where payloads have to be.
func TestC67_secrets_do_not_rest(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	uses := v.openHooks()
	stopWatching := v.watchStatements()
	v.useCredentials()
	v.abuse(uses)
	v.misbehave()
	v.trouble(uses)
	v.post()
	stopWatching()
	v.commands(uses[0])
	v.crash(len(uses))
	v.dump()
	v.judge(uses)
}

// openHooks starts runs until there are more than 1,000 hooks with a minted token, and some with a host's.
func (v *vault) openHooks() []use {
	v.t.Helper()
	const each = 50
	kinds := slices.Concat(slices.Repeat([]string{toAnswer}, 13), slices.Repeat([]string{toDispose}, 3),
		slices.Repeat([]string{toExpire}, 2), []string{toEnd, toEnd, toInternal, toAnswer})
	var runs []string
	for i, kind := range kinds {
		run := fmt.Sprintf("run-%s-%d-%s", kind, i, mark(base62, 16))
		v.search.add(control, run)
		v.start(fmt.Sprintf(`{"workflow":"leak.doors","run_id":%q,"input":{"count":%d,"kind":%q,"host":%t}}`, run, each, kind, i == len(kinds)-1))
		runs = append(runs, run)
	}
	eventually(v.t, "all hooks", func() bool {
		var n int
		err := v.conn.QueryRow(v.t.Context(), "select count(*) from hooks where state = any('{active,expired}')").Scan(&n)
		return err == nil && n == each*len(kinds)
	})
	for i, run := range runs {
		if kinds[i] == toEnd {
			call(v.t, http.StatusAccepted, "POST", v.api("/v1/runs/"+run+"/signals/end?idempotency_key=e"), "null")
			call(v.t, http.StatusOK, "GET", v.api("/v1/runs/"+run+"?wait=20s"), "")
			// Another process may have ended it. Until it has refused something, the gateway may take the run for one that goes on, and
			// send what it is asked to store to the database along with the condition that the run is as it was.
			call(v.t, http.StatusGone, "POST", v.api("/v1/runs/"+run+"/signals/note?idempotency_key=first"), "null")
		}
	}
	uses := v.readHooks(0)
	if minted := len(uses) - each; minted < 1000 {
		v.t.Fatalf("%d minted tokens, want 1,000 or more", minted)
	}
	return uses
}

func (v *vault) api(path string) string { return "http://" + v.gate.url + path }

func (v *vault) start(body string) {
	v.t.Helper()
	call(v.t, http.StatusCreated, "POST", v.api("/v1/runs"), body)
}

// readHooks makes the tokens of all hooks but the first as the deployment does, from its keys and what is stored of them.
func (v *vault) readHooks(first int) []use {
	v.t.Helper()
	rows, err := v.conn.Query(v.t.Context(), `select r.run_id, h.hook_id, h.name, coalesce(h.mint_key, ''), h.nonce
		from hooks h join runs r on r.id = h.run order by h.id offset $1`, first)
	if err != nil {
		v.t.Fatal(err)
	}
	uses, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (use, error) {
		var u use
		var key string
		var nonce []byte
		if err := row.Scan(&u.run, &u.hook, &u.kind, &key, &nonce); err != nil {
			return u, err
		}
		u.token, u.minted = hostToken(u.run, u.hook), key != ""
		if !u.minted {
			return u, nil
		}
		token, err := v.ring.Remint(key, tokens.Binding{Namespace: "default", RunID: u.run, HookID: u.hook}, tokens.Nonce(nonce))
		u.token = token.Reveal()
		return u, err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	for i := range uses {
		u := &uses[i]
		u.n = first + i
		u.good, u.bad, u.key = "good"+mark(base62, 20), "bad"+mark(base62, 21), "key"+mark(base62, 21)
		u.digits, u.badDigit = mark("123456789", 24), mark("123456789", 24)
		v.search.add(bearer, strings.TrimPrefix(u.token, "fhk_"))
		v.search.add(accepted, u.good)
		v.search.add(refused, u.bad)
		v.search.add(named, u.key)
		v.search.addWhole(accepted, u.digits)
		v.search.addWhole(refused, u.badDigit)
	}
	return uses
}

// abuse takes every way with every hook.
func (v *vault) abuse(uses []use) {
	v.t.Helper()
	next := make(chan use)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for u := range next {
				v.walk(v.gate.url, u, slices.Concat(before, after[u.kind]))
				if u.n%10 == 0 {
					v.walk(strings.TrimPrefix(v.gate.admin, "http://"), u, toAdmin)
					v.keep("answers", v.talk(v.closed.url, fill("GET /v1/runs/<R> HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <T>\r\nConnection: close\r\n\r\n", u)))
				}
				if u.n%20 == 0 {
					v.shatter(v.closed.url, u)
				}
			}
		})
	}
	for _, u := range uses {
		next <- u
	}
	close(next)
	workers.Wait()
}

// judge searches everything that was kept.
func (v *vault) judge(uses []use) {
	v.t.Helper()
	for _, text := range []string{"flowgate.dev/problems/", "/callbacks/flow/hooks/{token}", "-- name: ResolveTokens", "SIGQUIT: quit"} {
		v.search.addWhole(control, text)
	}
	found := map[string]map[class]int{}
	for name, s := range v.stores {
		found[name] = map[class]int{}
		for _, h := range v.search.in(s.text) {
			found[name][h.class]++
			if h.class != control && !slices.Contains(s.may, h.class) && found[name][h.class] <= 3 {
				v.t.Errorf("%s: %s, after %s", name, h.class, around(s.text, h.at))
			}
		}
		if len(found[name]) == 0 {
			v.t.Errorf("%s: nothing is found in %d bytes, not even what is no secret", name, len(s.text))
		}
		v.t.Logf("%s: %d bytes, %v", name, len(s.text), found[name])
	}
	answered := 0
	for _, u := range uses {
		if u.kind == toAnswer || u.kind == toInternal {
			answered++
		}
	}
	if got := found["column public.events.payload"][accepted]; got < 2*answered {
		v.t.Errorf("%d marks are found where %d answers, each with two, are kept", got, answered)
	}
	if found["answers that point to keys"][named] == 0 {
		v.t.Error("no answer points to a key")
	}
}
