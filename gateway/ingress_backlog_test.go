package gateway

import (
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// A run that takes no more now is our trouble: a sender may take any 4xx as final.
func TestIngress_backlog(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := eventSiteOf(t, url, bareEngine(t, url, func(c *engine.Config) { c.Limits.Backlog = 1 }), shopSources)
	s.order("r")
	const body = `{"id":"e1","run":"r","type":"paid","data":1}`
	s.wantEvent("first", s.event("shop", body), 202, "accepted", "")
	checkProblem(t, s.event("shop", strings.Replace(body, "e1", "e2", 1)), 503, "unavailable")
	s.wantEvent("first again", s.event("shop", body), 202, "duplicate", "")
}
