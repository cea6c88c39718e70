package gateway

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

var statementName = regexp.MustCompile(`-- name: (\w+)`)

// asked are the names of the statements that were sent during a request. A few may be the engine's own.
func asked(b *pgfault.Breaker, do func()) (names []string) {
	for _, sql := range statements(b, do) {
		if m := statementName.FindStringSubmatch(sql); m != nil {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}

// 48: what is another's takes the database the same statements as what is not there, on every route, so that no time tells
// them apart.
func TestTenants_48_ask_the_database_alike(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var breaker pgfault.Breaker
	c := newCredentials(t, url)
	s := guarded(t, engineOn(t, url, watched(t, url, &breaker)), c)
	_, alpha := c.key("alpha", nil)
	_, beta := c.key("beta", nil)
	s.as(alpha).open("target", doorInput{Hook: "soft", Stay: true})
	checkAccepted(t, s.as(alpha).signal("target", "note", "s1", `{"n":1}`))
	compared := 0
	for _, r := range s.gw.routes() {
		if r.needs == "" || !strings.Contains(r.pattern, "{run}") {
			continue
		}
		ask := func(run string) []string {
			return asked(&breaker, func() { s.as(beta).call(r.method, r.at(run, "1"), bodies[r.pattern]) })
		}
		ask("nobody") // what is read once and kept is read
		var there, nobody []string
		for range 10 { // the engine may do something of its own beside
			if there, nobody = ask("target"), ask("nobody"); slices.Equal(there, nobody) {
				break
			}
		}
		if len(there) == 0 || !slices.Equal(there, nobody) {
			t.Errorf("%s %s: %v for another's run, %v for nobody's", r.method, r.pattern, there, nobody)
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("%d routes", compared)
	}
}
