package proof

import (
	"slices"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// tries bounds how often a turn of the engine is decided with a token seen as free that a rival holds in the end.
const tries = 4

// outcome decides a turn. What it comes to may depend on when a rival takes a token that the turn asks for as well: before
// it, or only after the turn was decided once, or oftener. Where a rival has done so, it is what the engine stored.
func (r *modelRun) outcome(m *Model) (history.Outcome, error) {
	first, late, err := r.decideUntil(m, 0)
	if err != nil || !late || m.Stored == nil {
		return first, err
	}
	for free := 0; free <= tries; free++ {
		out, _, err := r.decideUntil(m, free)
		if err != nil {
			return out, err
		}
		if same, err := r.stored(m, out.Events); same || err != nil {
			return out, err
		}
	}
	return first, nil
}

// stored says whether the engine stored these events next.
func (r *modelRun) stored(m *Model, events []history.Event) (bool, error) {
	have := m.Stored(r.run.Key, r.run.NextSeq)
	if len(events) == 0 {
		return len(have) == 0, nil
	}
	var want []string
	for _, e := range events {
		line, err := EventLine(e)
		if err != nil {
			return false, err
		}
		want = append(want, line)
	}
	return len(have) >= len(want) && slices.Equal(have[:len(want)], want), nil
}

// decideUntil decides a turn, again as long as hooks are refused. So many times it sees the tokens that rivals win in this
// round of turns as free; late says that there are such tokens.
func (r *modelRun) decideUntil(m *Model, free int) (out history.Outcome, late bool, err error) {
	rejected := map[spec.HookID]history.Rejection{}
	for n := 0; ; n++ {
		if out, err = r.decide(m, rejected); err != nil {
			return out, late, err
		}
		again, wonLate := r.refuse(m, out, rejected, n < free)
		late = late || wonLate
		if !again && !wonLate {
			return out, late, nil
		}
	}
}

// refuse notes the new hooks whose token or ID is taken, and says whether there is one. late says that one of the tokens is
// won by a rival in this round of turns, which is overlooked on demand.
func (r *modelRun) refuse(
	m *Model, out history.Outcome, rejected map[spec.HookID]history.Rejection, overlook bool,
) (again, late bool) {
	mine := map[history.TokenDigest]hookKey{}
	for _, h := range out.NewHooks {
		self := hookKey{r.run.Key, h.ID}
		owner, owned := mine[h.Grant.Digest]
		if !owned {
			var recent bool
			owner, owned, recent = m.owner(h.Grant.Digest)
			late = late || owned && recent && owner != self
			owned = owned && !(recent && overlook)
		}
		_, used := r.hooks[h.ID]
		switch {
		case owned && owner != self:
			rejection := history.Rejection{Reason: history.RejectTaken}
			if owner.run.Namespace == r.run.Key.Namespace {
				rejection.OwnerRun = owner.run.RunID
			}
			rejected[h.ID], again = rejection, true
		case used:
			rejected[h.ID], again = history.Rejection{Reason: history.RejectIDUsed}, true
		default:
			mine[h.Grant.Digest] = self
		}
	}
	return again, late
}

// owner is the hook that holds a token; recent says that it got it in this round of turns.
func (m *Model) owner(d history.TokenDigest) (owner hookKey, owned, recent bool) {
	if known, ok := m.tokens[d]; ok {
		return known, true, m.won[d]
	}
	if m.Holder == nil {
		return hookKey{}, false, false
	}
	run, hook, ok := m.Holder(d)
	return hookKey{run, hook}, ok, true
}
