package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/internal/tally"
)

// unknownMethod stands for a method that is none, or that could not be read.
const unknownMethod = "unknown"

// Why a caller is refused before it is asked what it wants, beside the reasons of package access.
const (
	authMissing   = "missing"        // there is no credential
	authScope     = "scope"          // it does not allow the action
	authSignature = "hook_signature" // a hook asks for a signature, and it is absent or wrong
)

// statuses are those of the HTTP contract.
var statuses = []int{200, 201, 202, 204, 303, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 417, 422, 429, 431, 500, 503}

// figures count what a gateway answers.
type figures struct {
	requests  *tally.Grid // by route, method, status
	verdicts  *tally.Grid
	auth      *tally.Grid
	durations map[string]*tally.Histogram // by route
	decisions *tally.Grid                 // made on approval pages, by verdict; of a page that asks twice, the second one

	views, prefetches *tally.Grid // of approval pages; no dimension
}

func newFigures(routes []route) *figures {
	f := &figures{durations: map[string]*tally.Histogram{unmatched: tally.NewHistogram(tally.Seconds())}}
	for _, r := range routes {
		if f.durations[r.pattern] == nil {
			f.durations[r.pattern] = tally.NewHistogram(tally.Seconds())
		}
	}
	var patterns, codes []string
	for pattern := range f.durations {
		patterns = append(patterns, pattern)
	}
	for _, status := range statuses {
		codes = append(codes, strconv.Itoa(status))
	}
	verdicts := []string{
		string(engine.VerdictAccepted), string(engine.VerdictDuplicate), string(engine.VerdictConflict),
		string(engine.VerdictGone), string(engine.VerdictUnknown), string(engine.VerdictInvalid),
		string(engine.VerdictDenied), string(engine.VerdictBusy),
	}
	f.requests = tally.NewGrid(patterns, append(slices.Clone(methods), unknownMethod), codes)
	// An alert asks for the first fault: a rate sees it only if the series was there before.
	fault := strconv.Itoa(http.StatusInternalServerError)
	for _, r := range routes {
		f.requests.Expect(r.pattern, r.method, fault)
	}
	f.requests.Expect(unmatched, unknownMethod, fault)
	f.verdicts, f.decisions = tally.NewGrid(verdicts), tally.NewGrid(verdicts)
	f.auth = tally.NewGrid(append(access.Reasons(), authMissing, authScope, authSignature))
	f.views, f.prefetches = tally.NewGrid(), tally.NewGrid()
	return f
}

// answered counts a request that has its answer. Those that say nothing of a message have no verdict.
func (f *figures) answered(k *call, method string, status int) {
	if !slices.Contains(methods, method) {
		method = unknownMethod
	}
	f.requests.Add(k.route, method, strconv.Itoa(status))
	if h := f.durations[k.route]; h != nil {
		h.Observe(time.Since(k.began))
	}
	if k.verdict != "" {
		f.verdicts.Add(string(k.verdict))
	}
	for _, why := range []string{k.refused, k.barred} {
		if why != "" {
			f.auth.Add(why)
		}
	}
}

// pageDecided counts what came of a decision that was sent from an approval page.
func (f *figures) pageDecided(verdict engine.Verdict) { f.decisions.Add(string(verdict)) }

// Stats are figures of a gateway since it was made. All words in them are of fixed sets, but for the configured sources.
type Stats struct {
	Requests      []engine.Count                 // that happened, by pattern of the route, method, status; of 500, also none
	RequestTime   map[string]engine.Distribution // by pattern of the route
	InFlight      int64                          // requests in work
	Verdicts      []engine.Count                 // of all answers, whoever decided
	AuthFailures  []engine.Count                 // by reason
	PageViews     int64                          // approval pages that were shown for a GET or a HEAD
	Prefetches    int64                          // requests for such a page that a browser made on its own account
	PageDecisions []engine.Count                 // forms that were answered, by verdict
	Limits        LimitStats
	Events        []ingress.Count // requests of configured sources
}

// Stats reads them; it costs no query.
func (g *Gateway) Stats() Stats {
	f := g.figures
	s := Stats{
		Requests: f.requests.Happened(), RequestTime: map[string]engine.Distribution{}, InFlight: g.inFlight.used.Load(),
		Verdicts: f.verdicts.Counts(), AuthFailures: f.auth.Counts(), PageViews: f.views.Counts()[0].Times,
		Prefetches:    f.prefetches.Counts()[0].Times,
		PageDecisions: f.decisions.Counts(), Limits: g.LimitStats(),
	}
	for route, h := range f.durations {
		s.RequestTime[route] = h.Distribution()
	}
	if g.config.Ingress != nil {
		s.Events = g.config.Ingress.Counts()
	}
	return s
}

// noteUnproven counts, with what the engine decided, a message whose sender could not prove what its hook asks for.
func (g *Gateway) noteUnproven(kind engine.MessageKind, err error) {
	g.engine.NoteRefused(kind, translate(err).problem.verdict)
}
