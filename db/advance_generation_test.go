package db

import (
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func TestContinuedRunCarriesItsSignals(t *testing.T) {
	t.Parallel()
	r := running(t)
	// Consumes one signal per generation, and ends in the fourth.
	entity := func(s *history.State) history.Decision {
		if s.Generation() == 4 {
			return decide(&history.Complete{Output: null})
		}
		if status, _ := s.Wait("w"); status == history.WaitDone {
			return decide(&history.ContinueAsNew{Input: null})
		}
		return decide(wait("w"))
	}
	for _, cached := range []bool{true, false} {
		id := fmt.Sprint("cached-", cached)
		s := r.open(r.pool, func(c *Config) {
			if !cached {
				c.CacheBytes = 1
			}
		})
		r.ok(r.startOf(id))
		for n := range 5 {
			r.ok(r.signal(id, fmt.Sprint("s", n), fmt.Sprint(n)))
		}
		for r.view(id).Status != history.Completed {
			if done, err := s.Advance(t.Context(), by(entity)); err != nil || done.Committed != 1 {
				t.Fatalf("%+v %v", done, err)
			}
			r.folded(id)
		}
		if v := r.view(id); v.Generation != 4 || v.Backlog != 2 {
			t.Errorf("%+v", v)
		}
		for n := range 5 {
			rec, err := r.Signal(t.Context(), keyOf(id), spec.SignalID(fmt.Sprint("s", n)))
			if err != nil || (rec.ConsumedBy != nil) != (n < 3) || n < 3 && rec.ConsumedBy.Generation != n+1 {
				t.Errorf("signal %d: %+v %v", n, rec, err)
			}
		}
	}
}
