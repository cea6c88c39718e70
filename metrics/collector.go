package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/ingress"
)

// collector makes series of what others count.
type collector struct {
	Sources
	gauges gauges
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range described {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	out := sink(to)
	out.gauge(buildInfo, 1, c.Version)
	out.engine(c.Engine.Stats())
	out.gauge(acceptQueue, c.Engine.AcceptWait().Seconds())
	if c.Gateway != nil {
		out.gateway(c.Gateway.Stats())
	}
	known, err := c.gauges.get()
	if err != nil {
		out.gauge(databaseUp, 0)
		return
	}
	out.gauge(databaseUp, 1)
	out.database(known)
}

// sink takes the values of series.
type sink chan<- prometheus.Metric

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s sink) counter(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func (s sink) counts(d *prometheus.Desc, counts []engine.Count) {
	for _, c := range counts {
		s.counter(d, float64(c.Times), c.Labels...)
	}
}

func (s sink) words(d *prometheus.Desc, of map[string]int64) {
	for word, n := range of {
		s.gauge(d, float64(n), word)
	}
}

func (s sink) histogram(d *prometheus.Desc, h engine.Distribution, labels ...string) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		buckets[bound.Seconds()] = h.UpTo[i]
	}
	s <- prometheus.MustNewConstHistogram(d, h.Count, h.Sum.Seconds(), buckets, labels...)
}

func (s sink) engine(e engine.Stats) {
	s.counts(receipts, e.Receipts)
	s.counts(conflicts, e.Conflicts)
	s.counts(unresolved, e.UnresolvedTokens)
	s.counts(attempts, e.StepAttempts)
	s.counts(turns, e.Store.Turns)
	s.counts(dbErrors, e.Store.Errors)
	s.counter(spansLost, float64(e.SpansLost))
	s.counter(auditLost, float64(e.Store.AuditLost))
	s.histogram(commitTime, e.Store.CommitTime)
	s.histogram(resumeTime, e.Store.ResumeTime)
	s.histogram(turnTime, e.TurnTime)
	s.gauge(abandoned, float64(e.AbandonedCalls), "workflow")
	s.gauge(abandoned, float64(e.AbandonedQueries), "query")
	s.gauge(waiters, float64(e.Waiters))
}

func (s sink) gateway(g gateway.Stats) {
	s.counts(requests, g.Requests)
	s.counts(httpVerdicts, g.Verdicts)
	s.counts(authFailures, g.AuthFailures)
	s.counts(pageDecides, g.PageDecisions)
	s.counter(pageViews, float64(g.PageViews))
	s.counter(prefetches, float64(g.Prefetches))
	s.gauge(inFlight, float64(g.InFlight))
	for route, h := range g.RequestTime {
		s.histogram(requestTime, h, route)
	}
	for limit, n := range g.Limits.Refused {
		s.counter(limited, float64(n), limit)
	}
	for name, n := range g.Limits.Keys {
		s.gauge(limiterKeys, float64(n), name)
	}
	for name, n := range g.Limits.Overflows {
		s.counter(overflows, float64(n), name)
	}
	s.events(g.Events)
}

// events tells what became of the requests to configured sources; of outcomes that have reasons, their sum.
func (s sink) events(counts []ingress.Count) {
	type key struct{ source, outcome string }
	outcomes := map[key]float64{}
	for _, c := range counts {
		if c.Outcome == ingress.OutcomeDenied {
			s.counter(sigFailures, float64(c.Times), c.Source, c.Reason)
			continue
		}
		outcomes[key{c.Source, c.Outcome}] += float64(c.Times)
	}
	for k, n := range outcomes {
		s.counter(events, n, k.source, k.outcome)
	}
}

func (s sink) database(g engine.Gauges) {
	s.gauge(clockSkew, g.ClockAhead.Seconds())
	s.gauge(hooksActive, float64(g.HooksActive))
	s.gauge(hookOldest, g.HookOldestAge.Seconds())
	s.gauge(hooksOverdue, float64(g.HooksOverdue))
	s.gauge(signalsUnread, float64(g.SignalsUnread))
	s.gauge(withoutCode, float64(g.WithoutCode))
	s.gauge(dueOldest, max(g.DueOldestAge, time.Duration(0)).Seconds())
	s.words(runs, g.Runs)
	s.words(runsBlocked, g.Blocked)
	s.words(deadLetters, g.Letters)
	s.words(inboxMessages, g.Inbox)
	s.words(hooksByKey, g.HooksByKey)
}
