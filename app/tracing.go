package app

import (
	"context"
	"net/url"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	settingOTLPEndpoint = "FLOWGATE_OTLP_ENDPOINT"
	// flushWithin bounds the sending of the last spans when a process ends.
	flushWithin = 5 * time.Second
)

// traceSetting says where spans go.
type traceSetting struct {
	OTLPEndpoint string `name:"otlp-endpoint" setting:"FLOWGATE_OTLP_ENDPOINT" placeholder:"URL" otherwise:"none: there are no traces" help:"Where spans are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces."`
}

// endpoint checks the setting; empty is no tracing.
func (s traceSetting) endpoint() (string, error) {
	if s.OTLPEndpoint == "" {
		return "", nil
	}
	u, err := url.Parse(s.OTLPEndpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", setting(settingOTLPEndpoint, "must be the http or https URL of a collector, without a user")
	}
	return s.OTLPEndpoint, nil
}

// spans export what is traced. The zero value traces nothing.
type spans struct{ provider *sdk.TracerProvider }

// newSpans sends spans to an endpoint, in batches and beside the work; those that it does not take are lost.
func newSpans(ctx context.Context, endpoint string, log zerolog.Logger) (spans, error) {
	if endpoint == "" {
		return spans{}, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { // its words may name hosts
		log.Warn().Msg("spans cannot be sent to " + settingOTLPEndpoint)
	}))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return spans{}, setting(settingOTLPEndpoint, "is no endpoint that spans can be sent to")
	}
	named := resource.NewSchemaless(attribute.String("service.name", "flowgate"), attribute.String("service.version", version()))
	return spans{provider: sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(named))}, nil
}

// tracer is nil without an endpoint.
func (s spans) tracer() trace.TracerProvider {
	if s.provider == nil {
		return nil
	}
	return s.provider
}

// close sends what is left.
func (s spans) close() {
	if s.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	_ = s.provider.Shutdown(ctx) // what cannot be sent is lost, and said by the error handler
}
