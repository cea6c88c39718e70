package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/report"
)

// Measure loads the service: it starts runs and waits until they are parked, signals all of them, and then measures
// single round trips. Every run must complete.
func (l *Load) Measure(ctx context.Context, figures *report.Figures) error {
	s, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	figures.State("workflow", l.Workflow)
	figures.State("signals", l.Signals)
	for _, step := range []struct {
		name string
		run  func(context.Context, *report.Figures) error
	}{{"start and park", s.park}, {"signals", s.burst}, {"round trips", s.trips}} {
		if err := step.run(ctx, figures); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (s *service) burstRun(i int) string { return fmt.Sprintf("%s-%d", s.prefix, i) }

func (s *service) park(ctx context.Context, figures *report.Figures) error {
	begin := time.Now()
	started, err := load.Spread(ctx, s.Clients, s.Runs, func(ctx context.Context, i int) error { return s.start(ctx, s.burstRun(i)) })
	if err != nil {
		return err
	}
	if _, err := load.Spread(ctx, s.Clients, s.Runs, func(ctx context.Context, i int) error { return s.parked(ctx, s.burstRun(i)) }); err != nil {
		return err
	}
	figures.Add("http_start_per_s", load.PerSecond(s.Runs, started))
	figures.Add("http_park_per_s", load.PerSecond(s.Runs, time.Since(begin)))
	figures.Note("http_park_per_s contains a question per run: whether it waits already")
	return nil
}

func (s *service) burst(ctx context.Context, figures *report.Figures) error {
	begin := time.Now()
	sent, err := load.Spread(ctx, s.Clients, s.Runs, func(ctx context.Context, i int) error { return s.signal(ctx, s.burstRun(i)) })
	if err != nil {
		return err
	}
	if _, err := load.Spread(ctx, s.Clients, s.Runs, func(ctx context.Context, i int) error { return s.ended(ctx, s.burstRun(i)) }); err != nil {
		return err
	}
	figures.Add("http_signal_per_s", load.PerSecond(s.Runs*len(s.names()), sent))
	figures.Add("http_runs_per_s", load.PerSecond(s.Runs, time.Since(begin)))
	figures.Note("http_runs_per_s contains a question per run: whether it ended")
	return nil
}

// trips measures with one client, and with all of them.
func (s *service) trips(ctx context.Context, figures *report.Figures) error {
	crowds := []int{1}
	if s.Clients > 1 {
		crowds = append(crowds, s.Clients)
	}
	for _, clients := range crowds {
		n := s.Runs
		if clients == 1 {
			n = min(n, 500)
		}
		name := func(i int) string { return fmt.Sprintf("%s-c%d-%d", s.prefix, clients, i) }
		if _, err := load.Spread(ctx, s.Clients, n, func(ctx context.Context, i int) error {
			if err := s.start(ctx, name(i)); err != nil {
				return err
			}
			return s.parked(ctx, name(i))
		}); err != nil {
			return err
		}
		receipts, trips := make([]time.Duration, n), make([]time.Duration, n)
		if _, err := load.Spread(ctx, clients, n, func(ctx context.Context, i int) error {
			begin := time.Now()
			if err := s.signal(ctx, name(i)); err != nil {
				return err
			}
			receipts[i] = time.Since(begin)
			err := s.ended(ctx, name(i))
			trips[i] = time.Since(begin)
			return err
		}); err != nil {
			return err
		}
		for _, q := range []int{50, 95, 99} {
			figures.Add(fmt.Sprintf("http_receipt_ms_p%d_c%d", q, clients), load.Millis(load.Quantile(receipts, float64(q)/100)))
			figures.Add(fmt.Sprintf("http_roundtrip_ms_p%d_c%d", q, clients), load.Millis(load.Quantile(trips, float64(q)/100)))
		}
	}
	return nil
}
