package ingress

import (
	"errors"
	"sync"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
)

// OutcomeDenied is the outcome, in a Count, of requests that are not verified.
const OutcomeDenied = "denied"

// Count says how often something became of the requests of a source. All three are from small, closed sets: the configured
// names, and the words of this package and of the inbox.
type Count struct {
	Source  string
	Outcome string // an outcome of the inbox, or challenge, denied, invalid, conflict, busy
	Reason  string
	Times   uint64
}

// tally counts. There are as many entries as sources times what can become of a request.
type tally struct {
	mu    sync.Mutex
	times map[Count]uint64 // by a Count without its times
}

func newTally() *tally { return &tally{times: map[Count]uint64{}} }

func (t *tally) count(source string, a Answer, err error) {
	c := Count{Source: source, Outcome: string(a.Outcome), Reason: string(a.Reason)}
	switch denied, conflict := (*SignatureError)(nil), (*inbox.ConflictError)(nil); {
	case err == nil && a.Challenge != "":
		c.Outcome = "challenge"
	case err == nil:
	case errors.As(err, &denied):
		c.Outcome, c.Reason = OutcomeDenied, string(denied.Reason)
	case errors.As(err, &conflict):
		c.Outcome = "conflict"
	case errors.Is(err, ErrMediaType), engine.VerdictOf(err) == engine.VerdictInvalid:
		c.Outcome = "invalid"
	default:
		c.Outcome = "busy"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times[c]++
}

// Counts are what became of all requests to configured sources since this process began.
func (r *Receiver) Counts() []Count {
	r.tally.mu.Lock()
	defer r.tally.mu.Unlock()
	all := make([]Count, 0, len(r.tally.times))
	for c, times := range r.tally.times {
		c.Times = times
		all = append(all, c)
	}
	return all
}
