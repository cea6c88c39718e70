package main

import (
	"context"
	"io"

	"github.com/flowgate-go/flowgate/bench/internal/report"
)

// loadService measures a service that runs already.
func loadService(ctx context.Context, o options, figures *report.Figures, _ io.Writer) error {
	return o.remote.Measure(ctx, figures)
}
