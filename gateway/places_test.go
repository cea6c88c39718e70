package gateway

import (
	"testing"
)

// A namespace that waits for all it can leaves places for the others, and alone it has half of them.
func TestPlaces(t *testing.T) {
	t.Parallel()
	cfg := Config{}.withDefaults()
	p := newPlaces(cfg.MaxWaiters, cfg.Limits.share(cfg.MaxWaiters))
	greedy, others := 0, 0
	for range 2 * DefaultMaxWaiters {
		if p.take("greedy") {
			greedy++
		}
	}
	if greedy != DefaultMaxWaiters/2 {
		t.Errorf("one namespace has %d places", greedy)
	}
	for range 2 * DefaultMaxWaiters {
		if p.take("other") {
			others++
		}
	}
	if others != DefaultMaxWaiters/4 {
		t.Errorf("the next has %d places", others)
	}
	if !p.take("third") {
		t.Error("a third has none")
	}
	p.give("third")
	for range greedy {
		p.give("greedy")
	}
	for range others {
		p.give("other")
	}
	if p.used.Load() != 0 || p.of.Len() != 0 {
		t.Errorf("%d places are lost, %d namespaces are remembered", p.used.Load(), p.of.Len())
	}
	small := newPlaces(1, cfg.Limits.share(1))
	if !small.take("a") || small.take("b") {
		t.Error("the only place is for one")
	}
}
