package metrics

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// However many scrape, the database is asked once in ten seconds, also one that does not answer.
func TestDatabaseIsAskedOnceInAWhile(t *testing.T) {
	t.Parallel()
	now, asked := time.Unix(1000, 0), 0
	down := errors.New("down")
	g := gauges{clock: func() time.Time { return now }, read: func(ctx context.Context) (engine.Gauges, error) {
		if by, ok := ctx.Deadline(); !ok || time.Until(by) > gaugesTimeout {
			t.Error("nothing bounds the question")
		}
		asked++
		if asked == 2 {
			return engine.Gauges{}, down
		}
		return engine.Gauges{HooksActive: int64(asked)}, nil
	}}
	for _, tt := range []struct {
		after time.Duration
		asked int
		err   error
	}{
		{0, 1, nil},
		{0, 1, nil},
		{gaugesCached - 1, 1, nil},
		{1, 2, down},
		{time.Second, 2, down},
		{gaugesCached, 3, nil},
		{-time.Hour, 4, nil}, // whoever sets the clock back does not keep the figures of an hour ago
	} {
		now = now.Add(tt.after)
		if _, err := g.get(); asked != tt.asked || !errors.Is(err, tt.err) {
			t.Errorf("after %s: asked %d times, %v", tt.after, asked, err)
		}
	}
}
