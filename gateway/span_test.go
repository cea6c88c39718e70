package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

const strangersTrace = "0af7651916cd43dd8448eb211c80319c"

// spanNamed is the last span of a name that has ended, nil while there is none.
func spanNamed(recorder *tracetest.SpanRecorder, name string) (found sdk.ReadOnlySpan) {
	for _, s := range recorder.Ended() {
		if s.Name() == name {
			found = s
		}
	}
	return found
}

// A callback has a span of its own, to which a stranger's is linked and no parent; the turn that takes the answer is linked
// to the callback's. No span has a token, a path or the name of the namespace.
func TestSpansLinkReceiptsToTurns(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	eng := engineOn(t, pgtest.URL(t), func(c *engine.Config) { c.Tracer, c.Audit = provider, true })
	s := serveOn(t, eng, func(c *Config) { c.Tracer = provider })
	token := s.open("secret-run", doorInput{Hook: "ask"})
	r := s.call("POST", "/callbacks/flow/hooks/"+token+"?utm=1", `{"secret":"payload"}`,
		"Traceparent", "00-"+strangersTrace+"-b7ad6b7169203331-01")
	checkAccepted(t, r)

	const name = "POST /callbacks/flow/hooks/{token}"
	var callback sdk.ReadOnlySpan
	await(t, "the callback has a span", func() bool { callback = spanNamed(recorder, name); return callback != nil })
	if callback.Parent().IsValid() || callback.SpanContext().TraceID().String() == strangersTrace {
		t.Error("a stranger's span is the parent")
	}
	if links := callback.Links(); len(links) != 1 || links[0].SpanContext.TraceID().String() != strangersTrace {
		t.Errorf("links of the callback: %v", links)
	}
	await(t, "the turn is linked to the callback", func() bool {
		for _, span := range recorder.Ended() {
			for _, l := range span.Links() {
				if span.Name() == "flowgate.turn" && l.SpanContext.SpanID() == callback.SpanContext().SpanID() {
					return true
				}
			}
		}
		return false
	})
	for _, span := range recorder.Ended() {
		text := fmt.Sprint(span.Name(), span.Attributes(), span.Events(), span.Status())
		for _, hidden := range []string{token, "payload", "utm", "secret-run", "default"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s has %s: %s", span.Name(), hidden, text)
			}
		}
	}
	attributes := fmt.Sprint(callback.Attributes())
	for _, want := range []string{"http.route", "http.response.status_code", "flowgate.verdict", "accepted", engine.NamespaceHash("default")} {
		if !strings.Contains(attributes, want) {
			t.Errorf("%s is missing in %s", want, attributes)
		}
	}
}

// Whoever is somebody may have the request in a trace of theirs; anybody may not, and what is no traceparent is nothing.
func TestSpanParents(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	s := serveOn(t, engineOn(t, url, nil), func(cfg *Config) { cfg.Tracer, cfg.Access, cfg.OpenAPI = provider, c.verifier, false })
	_, key := c.key("default", nil)
	sent := "00-" + strangersTrace + "-b7ad6b7169203331-01"
	for _, tt := range []struct {
		credential, header string
		parent             bool
		links              int
	}{
		{key, sent, true, 0}, {"", sent, false, 1}, {"junk", sent, false, 1}, {key, "", false, 0}, {key, "00-junk", false, 0},
	} {
		before := len(recorder.Ended())
		s.as(tt.credential).call("GET", "/v1/runs", "", "Traceparent", tt.header)
		await(t, "there is a span", func() bool { return len(recorder.Ended()) > before })
		span := spanNamed(recorder, "GET /v1/runs")
		if span.Parent().IsValid() != tt.parent || len(span.Links()) != tt.links || span.SpanKind() != trace.SpanKindServer {
			t.Errorf("%+v: parent %v, links %v", tt, span.Parent(), span.Links())
		}
	}
}

// Where nothing is traced, spans cost nothing.
func TestNoSpansCostNothing(t *testing.T) {
	g, k, ctx := &Gateway{tracer: tracerOf(nil)}, &call{of: "default", verdict: engine.VerdictAccepted}, t.Context()
	r := route{method: "POST", pattern: "/v1/runs"}
	var c *fiber.Ctx // nothing is read of it
	if n := testing.AllocsPerRun(100, func() {
		if g.beginSpan(ctx, c, k, r) != ctx {
			t.Error("there is a context of a span")
		}
		k.endSpan(202)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
