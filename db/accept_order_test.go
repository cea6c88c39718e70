package db

import (
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
)

// A batch that is split keeps the order of each run: what comes behind a message that went to the side lane follows it
// there, although its run is free by then.
func TestSplitBatchKeepsTheOrderOfARun(t *testing.T) {
	t.Parallel()
	judged, release := 0, func() {}
	r := newAcceptRig(t, func(c *Config) {
		c.Authority = func(d canon.Digest) (history.Authority, bool) {
			if d == coopSpec {
				if judged++; judged == 3 { // in the whole batch, in its half, and now alone
					release()
				}
			}
			return testAuthorities(d)
		}
	})
	stop := r.start(r.Store)
	other := r.startOf("other")
	other.SpecDigest = coopSpec
	r.ok(r.startOf("a"))
	r.ok(other)
	stop()

	poison := r.signal("other", "poison", "1")
	poison.Actor = "\x00"
	r.Store = r.open(r.pool, func(c *Config) { c.Authority = r.cfg.Authority })
	release = r.hold("a")
	answers := r.line(r.signal("a", "first", "1"), poison, r.signal("a", "second", "2"), r.signal("a", "third", "3"))
	r.start(r.Store)
	for i, want := range []int64{2, 0, 3, 4} {
		if a := r.await(answers[i]); a.Receipt.Sequence != want {
			t.Errorf("message %d: %+v, want seq %d", i, a, want)
		}
	}
	if judged != 3 {
		t.Fatalf("the batch was not split as this test needs: %d", judged)
	}
}
