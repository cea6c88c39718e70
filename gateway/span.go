package gateway

import (
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/engine"
)

const tracerName = "github.com/flowgate-go/flowgate/gateway"

// tracerOf is nil where nothing is traced.
func tracerOf(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer(tracerName)
}

// beginSpan begins the span of a request whose route is known. It is named by the pattern, and never has a path, a query, a
// header or a payload. A span that the caller names is the parent for an authenticated caller; a stranger's is only linked,
// or strangers would decide what is sampled, and write into the traces of others.
func (g *Gateway) beginSpan(ctx context.Context, c *fiber.Ctx, k *call, r route) context.Context {
	if g.tracer == nil {
		return ctx
	}
	opts := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(k.began), trace.WithAttributes(
			attribute.String("http.route", r.pattern), attribute.String("http.request.method", r.method),
			attribute.String("flowgate.request_id", k.id),
		),
	}
	from := propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparentOf(c)})
	switch sent := trace.SpanContextFromContext(from); {
	case !sent.IsValid():
	case k.authenticated && k.who.Actor != "":
		ctx = from
	default:
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: sent}))
	}
	ctx, k.span = g.tracer.Start(ctx, r.method+" "+r.pattern, opts...)
	return ctx
}

// traceparentOf is the header of that name if it is there once.
func traceparentOf(c *fiber.Ctx) string {
	if sent := c.Request().Header.PeekAll("Traceparent"); len(sent) == 1 {
		return string(sent[0])
	}
	return ""
}

// endSpan ends the span of a request that has its answer.
func (k *call) endSpan(status int) {
	if k.span == nil {
		return
	}
	defer k.span.End()
	if !k.span.IsRecording() {
		return
	}
	k.span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.String("flowgate.verdict", string(k.verdict)))
	if k.of != "" {
		k.span.SetAttributes(attribute.String("flowgate.namespace_hash", engine.NamespaceHash(k.of)))
	}
	if status >= http.StatusInternalServerError {
		k.span.SetStatus(codes.Error, "")
	}
}
