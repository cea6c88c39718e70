package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	tracerName = "github.com/flowgate-go/flowgate/engine"
	// tracedTurns bounds the turns whose spans are not made yet; one more has none.
	tracedTurns = 1024
	// tracesTime bounds the question under which traces the messages of a turn came.
	tracesTime = 500 * time.Millisecond
	// lastSpansTime bounds those questions of all turns that are left when the process ends.
	lastSpansTime = time.Second
	// maxLinks bounds the links of a turn's span.
	maxLinks = 128
)

// tracing makes spans of stored turns, beside the work and never in its way. Each is linked to the spans under which the
// messages came that it showed to workflow code, in whichever process that was: the audit trail knows them.
type tracing struct {
	tracer trace.Tracer
	store  *db.Store
	turns  chan db.Turned
	lost   atomic.Int64
}

func newTracing(provider trace.TracerProvider) *tracing {
	if provider == nil {
		return nil
	}
	return &tracing{tracer: provider.Tracer(tracerName), turns: make(chan db.Turned, tracedTurns)}
}

// turned is db.Config.Turned.
func (t *tracing) turned(turn db.Turned) {
	select {
	case t.turns <- turn:
	default:
		t.lost.Add(1)
	}
}

// run makes spans until no more turns are stored, and then of those that are left. The end of ctx ends nothing: the last
// turns are stored after it.
func (t *tracing) run(ctx context.Context, quiet <-chan struct{}) error {
	ctx = context.WithoutCancel(ctx)
	for {
		select {
		case turn := <-t.turns:
			t.span(ctx, turn)
			continue
		case <-quiet:
		}
		ctx, cancel := context.WithTimeout(ctx, lastSpansTime)
		defer cancel()
		for len(t.turns) > 0 { // nobody adds to them any more, and nobody else takes of them
			t.span(ctx, <-t.turns)
		}
		return nil
	}
}

// lostTurns is how many turns have no span for the want of room.
func (t *tracing) lostTurns() int64 {
	if t == nil {
		return 0
	}
	return t.lost.Load()
}

// span tells of one turn. Who does not sample it costs no query.
func (t *tracing) span(ctx context.Context, turn db.Turned) {
	began := turn.Due
	if began.IsZero() {
		began = turn.At
	}
	_, span := t.tracer.Start(ctx, "flowgate.turn", trace.WithNewRoot(), trace.WithTimestamp(began), trace.WithAttributes(
		attribute.String("flowgate.workflow", turn.Code.Workflow), attribute.String("flowgate.version", turn.Code.Version),
		attribute.String("flowgate.outcome", turn.Outcome), attribute.Int("flowgate.messages", len(turn.Taken)),
		attribute.String("flowgate.namespace_hash", NamespaceHash(turn.Run.Namespace)),
	))
	defer span.End(trace.WithTimestamp(turn.At))
	if !span.IsRecording() || len(turn.Taken) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tracesTime)
	defer cancel()
	traces, err := t.store.Traces(ctx, turn)
	if err != nil {
		return // it is known without them
	}
	for _, text := range traces[:min(len(traces), maxLinks)] {
		if from := parseTrace(text); from.IsValid() {
			span.AddLink(trace.Link{SpanContext: from})
		}
	}
}

// NamespaceHash stands for a namespace where its name must not be told: 16 hexadecimal digits.
func NamespaceHash(ns spec.Namespace) string {
	sum := sha256.Sum256([]byte(ns))
	return hex.EncodeToString(sum[:8])
}

// withTrace has the audit trail keep under which span a message came, if there are both.
func (e *Engine) withTrace(ctx context.Context) context.Context {
	if !e.cfg.Audit || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	trail := db.TrailOf(ctx)
	trail.Trace = carrier["traceparent"]
	return db.WithTrail(ctx, trail)
}

func parseTrace(text string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}
