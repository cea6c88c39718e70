package db

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// wanting is which tokens the runs of a duel want, by what the ID adds to the duel's name. A run that is refused its first
// one wants what stands behind the bar as well; one that is refused all of them fails.
type wanting map[string]string

func (w wanting) code(s *history.State) history.Decision {
	id := string(s.Key().RunID)
	first, more, _ := strings.Cut(w[id[boutLength:]], "|")
	tokens := strings.Fields(first)
	if s.Hook(spec.HookID(tokens[0])).Rejected != nil {
		tokens = append(tokens, strings.Fields(more)...)
	}
	var hooks []history.Command
	refused := 0
	for _, token := range tokens {
		hooks = append(hooks, hookOn(token, id[:boutLength]+"/"+token))
		if s.Hook(spec.HookID(token)).Rejected != nil {
			refused++
		}
	}
	if refused == len(tokens) {
		return decide(&history.Fail{Message: "refused"})
	}
	return decide(hooks...)
}

// prepare starts all runs. The owner o, if there is one, has its tokens already; the runs whose ID ends with 2 are of
// version 2.
func (w wanting) prepare(r *ring, run string) {
	if _, ok := w["o"]; ok {
		r.ok(r.startOf(run + "o"))
		r.turn(r.preparer())
	}
	for suffix := range w {
		if suffix == "o" {
			continue
		}
		m := r.startOf(run + suffix)
		if strings.HasSuffix(suffix, "2") {
			m.Version = "2"
		}
		r.ok(m)
	}
}

// claimsVersion has the turns of what is due of one version.
func claimsVersion(version string) func(*contestant) string {
	return func(c *contestant) string {
		a := c.turnsOf()
		a.Codes = []Code{{Workflow: "invoice", Version: version}}
		done, err := c.store.Advance(context.Background(), a)
		return advanced(done, err)
	}
}

var (
	sameToken    = wanting{"x": "t", "y": "t"}
	sameTokens   = wanting{"x": "t u", "y": "u t"}
	crossedAgain = wanting{"o": "t", "x": "t u|v", "y": "t v|u"}
	threeRanks   = wanting{"x": "1", "y": "0 1 2", "z": "2 0"}
	crossedBatch = wanting{"o": "t", "k1": "p", "x1": "t q|s", "k2": "s", "x2": "t r|p"}
)

// ranked is wanting by rank: the token 0 is the one that all transactions insert first, 2 the last.
func ranked(w wanting) author {
	return func(s *history.State) history.Decision {
		id := string(s.Key().RunID)
		tokens := []string{id[:boutLength] + "/a", id[:boutLength] + "/b", id[:boutLength] + "/c"}
		slices.SortFunc(tokens, func(a, b string) int {
			x, y := digestOf(a), digestOf(b)
			return bytes.Compare(x[:], y[:])
		})
		hooks := []history.Command{wait("w")}
		for rank := range strings.FieldsSeq(w[id[boutLength:]]) {
			hooks = append(hooks, hookOn("h"+rank, tokens[rank[0]-'0']))
		}
		return decide(hooks...)
	}
}

// ranks is what comes of three turns: which hooks of the runs x, y and z are created, in the order of their decision.
func ranks(x, y, z string) string {
	words := strings.NewReplacer("+", "hook.created", "-", "hook.rejected")
	return "turned | turned | turned | x: wait.opened " + words.Replace(x) + "; y: wait.opened " + words.Replace(y) +
		"; z: wait.opened " + words.Replace(z)
}

// keyed is one token under two digest keys, of which processes that have the run x and the run y use one each.
func keyed(s *history.State) history.Decision {
	id := string(s.Key().RunID)
	h := hookOn("t", id[:boutLength]+"/t").(*history.CreateHook)
	h.HostDigests = append(h.HostDigests, digestOf(id[:boutLength]+"/t under k2"))
	if id[boutLength:] == "y" {
		h.Grant = history.TokenGrant{Digest: h.HostDigests[1], DigestKey: "k2"}
	}
	if s.Hook("t").Rejected != nil {
		return decide(&history.Fail{Message: "refused"})
	}
	return decide(h)
}

// The events of a turn that is decided again and gets both other tokens, or none of them.
const (
	gotBoth = "hook.rejected hook.created hook.created"
	gotNone = "hook.rejected hook.rejected hook.rejected run.failed"
)

// tokenDuels are duels about tokens that several runs want.
var tokenDuels = []*duel{
	{
		name: "two turns that want one token", prepare: sameToken.prepare, code: sameToken.code, again: true, grid: true,
		moves: []func(*contestant) string{claimsOne("x"), claimsOne("y")},
		ends: []string{
			"turned | turned | x: hook.created; y: hook.rejected run.failed",
			"turned | turned | x: hook.rejected run.failed; y: hook.created",
		},
	},
	{
		name: "two turns that want one token under two keys", prepare: sameToken.prepare, code: keyed, again: true,
		moves: []func(*contestant) string{claimsOne("x"), claimsOne("y")},
		ends: []string{
			"turned | turned | x: hook.created; y: hook.rejected run.failed",
			"turned | turned | x: hook.rejected run.failed; y: hook.created",
		},
	},
	{
		name: "two turns that want two tokens", prepare: sameTokens.prepare, code: sameTokens.code, again: true,
		moves: []func(*contestant) string{claimsOne("x"), claimsOne("y")},
		ends: []string{
			"turned | turned | x: hook.created hook.created; y: hook.rejected hook.rejected run.failed",
			"turned | turned | x: hook.rejected hook.rejected run.failed; y: hook.created hook.created",
		},
	},
	{
		name: "two turns that are decided again for each other's tokens", prepare: crossedAgain.prepare, code: crossedAgain.code,
		again: true,
		moves: []func(*contestant) string{claimsOne("x"), claimsOne("y")},
		ends: []string{
			"turned | turned | o: ; x: " + gotBoth + "; y: " + gotNone,
			"turned | turned | o: ; x: " + gotNone + "; y: " + gotBoth,
		},
	},
	{
		name: "two claims in which turns are decided again", prepare: crossedBatch.prepare, code: crossedBatch.code, again: true,
		moves: []func(*contestant) string{claimsVersion("1"), claimsVersion("2")},
		ends: []string{
			"turned | turned | k1: hook.created; k2: hook.rejected run.failed; o: ; " +
				"x1: hook.rejected hook.created hook.created; x2: hook.rejected hook.created hook.rejected",
			"turned | turned | k1: hook.rejected run.failed; k2: hook.created; o: ; " +
				"x1: hook.rejected hook.created hook.rejected; x2: hook.rejected hook.created hook.created",
		},
	},
	{
		// The first keeps the middle token from the second, which has the first one by then; the third wants that and the last.
		name: "three turns that want three tokens", prepare: threeRanks.prepare, code: ranked(threeRanks), again: true,
		moves: []func(*contestant) string{claimsOne("x"), claimsOne("y"), claimsOne("z")},
		ends: []string{
			ranks("+", "+ - +", "- -"), ranks("+", "- - -", "+ +"), ranks("-", "+ + +", "- -"), ranks("-", "- + -", "+ +"),
		},
	},
}
