package gateway

import (
	"net/netip"
	"regexp"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// auditView is an entry of the audit trail.
type auditView struct {
	engine.AuditEntry
	At stamp `json:"at"`
}

func viewAudit(e engine.AuditEntry) auditView { return auditView{e, stamp(e.At)} }

// listAudit lists the audit trail of the namespace or, where the path names one, of a run that must exist; newest first.
func (g *Gateway) listAudit(c *fiber.Ctx, k *call) error {
	names := []string{"kind", "verdict", "since", "cursor", "limit"}
	if k.run == "" {
		names = append(names, "run")
	}
	q, err := queryOf(c, names...)
	if err != nil {
		return err
	}
	want := engine.AuditQuery{RunID: k.run}
	if k.run == "" {
		run, err := q.text("run")
		if err != nil {
			return err
		}
		want.RunID = spec.RunID(run)
	}
	if want.Kind, err = q.text("kind"); err != nil {
		return err
	}
	if want.Verdict, err = q.text("verdict"); err != nil {
		return err
	}
	if want.Since, err = q.moment("since"); err != nil {
		return err
	}
	if want.Cursor, want.Limit, err = q.page(); err != nil {
		return err
	}
	page, err := k.handle.Audit(c.UserContext(), want)
	if err != nil {
		return err
	}
	return k.show(c, viewPage(page, viewAudit))
}

// moment returns a time, the zero one when the parameter is absent.
func (q query) moment(name string) (time.Time, error) {
	text, err := q.text(name)
	if err != nil || text == "" {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1 {
		return time.Time{}, &spec.InvalidError{Field: name, Rule: "must be a time such as 2026-01-31T12:00:00Z"}
	}
	return at, nil
}

// trail is what the audit trail says of who makes a request.
func (k *call) trail(c *fiber.Ctx, r route) engine.Trail {
	t := engine.Trail{RequestID: k.id, Peer: networkOf(k.peer)}
	switch {
	case k.authenticated:
		t = k.trailOf(c, k.who)
	case r.pattern == ingressPattern:
		t.Method, t.Credential = engine.TrailIngress, k.name
	default:
		t.Method = engine.TrailToken
	}
	return t
}

// trailOf is the trail of a request with a credential.
func (k *call) trailOf(c *fiber.Ctx, who access.Principal) engine.Trail {
	t := engine.Trail{
		Method: string(who.Method), Credential: who.KeyID, Actor: who.Actor, RequestID: k.id, Trace: traceOf(c), Peer: networkOf(k.peer),
	}
	if t.Credential == "" {
		t.Credential = who.TokenID
	}
	return t
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the W3C traceparent of a request, empty where there is none in proper form.
func traceOf(c *fiber.Ctx) string {
	if sent := c.Request().Header.Peek("traceparent"); traceparent.Match(sent) {
		return string(sent)
	}
	return ""
}

// networkOf is the network of an address, which is enough to tell callers apart and does not name a household's machine.
func networkOf(peer netip.Addr) string {
	bits := 64
	if peer.Is4() {
		bits = 24
	}
	network, err := peer.Prefix(bits)
	if err != nil {
		return ""
	}
	return network.String()
}
