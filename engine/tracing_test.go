package engine

import (
	"context"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/flowgate-go/flowgate/db"
)

// Turns that wait for their spans when the process is told to end still get them, and what found no room is counted.
func TestTheLastTurnsHaveSpans(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	spans := newTracing(sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)))
	for range tracedTurns + 3 {
		spans.turned(db.Turned{})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	quiet := make(chan struct{})
	close(quiet)
	if err := spans.run(ctx, quiet); err != nil {
		t.Fatal(err)
	}
	if n := len(recorder.Ended()); n != tracedTurns || spans.lostTurns() != 3 {
		t.Errorf("%d spans, %d turns lost", n, spans.lostTurns())
	}
	if none := newTracing(nil); none.lostTurns() != 0 {
		t.Error("without a tracer turns are lost")
	}
}
