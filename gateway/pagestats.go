package gateway

import (
	"sync/atomic"

	"github.com/flowgate-go/flowgate/engine"
)

// PageStats are what happened on the pages for people since the gateway was made.
type PageStats struct {
	Views      int64 // pages that were shown for a GET or a HEAD
	Prefetches int64 // requests for a page that a browser made on its own account
	// Decisions are the forms that were answered, by verdict; of a page that asks twice, the second one.
	Decisions map[engine.Verdict]int64
}

var pageVerdicts = [...]engine.Verdict{
	engine.VerdictAccepted, engine.VerdictConflict, engine.VerdictGone, engine.VerdictUnknown, engine.VerdictInvalid,
	engine.VerdictDenied, engine.VerdictBusy, engine.VerdictDuplicate,
}

type pageCounts struct {
	views, prefetches atomic.Int64
	decisions         [len(pageVerdicts)]atomic.Int64
}

func (p *pageCounts) decided(v engine.Verdict) {
	for i, known := range pageVerdicts {
		if known == v {
			p.decisions[i].Add(1)
		}
	}
}

// PageStats tells what happened on the pages. Every verdict is there, also those that never came up.
func (g *Gateway) PageStats() PageStats {
	stats := PageStats{
		Views: g.pages.views.Load(), Prefetches: g.pages.prefetches.Load(), Decisions: map[engine.Verdict]int64{},
	}
	for i, v := range pageVerdicts {
		stats.Decisions[v] = g.pages.decisions[i].Load()
	}
	return stats
}
