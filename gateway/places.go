package gateway

import (
	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
	"github.com/flowgate-go/flowgate/spec"
)

// places are where requests are parked. The first half of them is for whoever comes; the other half is for namespaces that use
// less than their share, so that nobody is left without by one that waits for much.
type places struct {
	slots
	of *throttle.Shares[spec.Namespace]
}

func newPlaces(all, share int) places {
	return places{slots{limit: int64(all)}, throttle.NewShares[spec.Namespace](share)}
}

// take takes a place, if there is one for the namespace.
func (p *places) take(ns spec.Namespace) bool {
	if !p.slots.take() {
		return false
	}
	if p.used.Load() <= p.limit/2 {
		p.of.Force(ns)
		return true
	}
	if !p.of.Take(ns) {
		p.slots.give()
		return false
	}
	return true
}

func (p *places) give(ns spec.Namespace) {
	p.of.Give(ns)
	p.slots.give()
}
