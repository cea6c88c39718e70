package gateway

import "sync/atomic"

// limit is a reason to refuse a request that may be served later.
type limit int

const (
	limitConnections limit = iota
	limitRequests
	limitInFlight
	limitOverload
	limitFailures
	limitLookups
	limitSuspects
	limitHook
	limitNamespace
	limitShare
	limitQuota
	limitPrincipal
	limitSource
	limitKinds // how many there are
)

var limitNames = [limitKinds]string{
	"connections", "requests", "in_flight", "overload", "failures", "lookups", "suspect_lookups", "hook", "namespace",
	"namespace_share", "quota", "principal", "source",
}

type limitCounts [limitKinds]atomic.Int64

func (c *limitCounts) add(which limit) { c[which].Add(1) }

// LimitStats are what the limits did since the gateway was made. The names are fixed.
type LimitStats struct {
	Refused   map[string]int64 // requests and connections, by the limit that refused them
	Keys      map[string]int   // keys remembered, by map; at most Limits.Keys of each
	Overflows map[string]int64 // keys that found no room, or were forgotten to make room, by map
}

// LimitStats tells what the limits did.
func (g *Gateway) LimitStats() LimitStats {
	l := g.limiter
	stats := LimitStats{Refused: map[string]int64{}, Keys: map[string]int{}, Overflows: map[string]int64{}}
	for i, name := range limitNames {
		stats.Refused[name] = l.refused[i].Load()
	}
	for name, m := range map[string]interface {
		Len() int
		Overflows() int64
	}{
		"failures": l.failures, "sites": l.sites, "suspects": l.suspects, "hooks": l.hooks, "namespaces": l.namespaces,
		"principals": l.principals, "api_keys": l.apiKeys, "sources": l.sources, "tokens": l.known,
	} {
		stats.Keys[name], stats.Overflows[name] = m.Len(), m.Overflows()
	}
	return stats
}
