package measure

import (
	"context"
	"fmt"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// Raw measures single-row insert commits.
func Raw(ctx context.Context, b *Bench) error {
	for _, clients := range Crowds {
		if err := b.Server.Settle(ctx); err != nil {
			return err
		}
		speed, err := floor.Raw(ctx, b.Server, clients, b.Sizes.Raw)
		if err != nil {
			return err
		}
		b.Figures.Add(fmt.Sprintf("insert_commit_per_s_c%d", clients), speed.PerSecond)
		b.Figures.Add(fmt.Sprintf("insert_commit_ms_p50_c%d", clients), speed.P50)
		if clients == many {
			b.Figures.Add("insert_commit_per_s", speed.PerSecond)
		}
	}
	return nil
}

// Floors measures both floors, with many clients and with one.
func Floors(ctx context.Context, b *Bench) error {
	for _, f := range []struct {
		name string
		run  func(ctx context.Context, s *server.Server, clients, runs int) (floor.Speed, error)
	}{{"floor_two_commit", floor.TwoCommits}, {"floor_history", floor.History}} {
		for _, load := range []struct {
			clients, runs int
		}{{many, b.Sizes.Floor}, {1, b.Sizes.FloorAlone}} {
			if err := b.Server.Settle(ctx); err != nil {
				return err
			}
			speed, err := f.run(ctx, b.Server, load.clients, load.runs)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if load.clients == 1 {
				b.Figures.Add(f.name+"_ms_p50", speed.P50)
			} else {
				b.Figures.Add(f.name+"_per_s", speed.PerSecond)
			}
		}
	}
	return nil
}
