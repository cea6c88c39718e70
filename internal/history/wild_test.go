package history

import (
	"fmt"
	"hash/fnv"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

// wild is workflow code that decides by a hash of what it sees, so that it asks for anything in any order and yet always
// decides alike.
type wild struct {
	seed     uint64
	absolute bool // deadlines are points in time, so that they do not depend on when a turn runs
	settled  bool // it looks at what settled only, so that calling it once more without news changes nothing
	parks    bool // every decision waits for something, so that there is always progress
	works    bool // it asks for steps, children and calls
}

func anyWild(t *rapid.T) *wild {
	return &wild{
		seed: rapid.Uint64().Draw(t, "seed"), absolute: rapid.Bool().Draw(t, "absolute"), parks: rapid.Bool().Draw(t, "parks"),
		works: rapid.Bool().Draw(t, "works"),
	}
}

// hookID is the ID of a hook, of which generations 2n and 2n+1 share one.
func hookID(i, generation int) spec.HookID { return spec.HookID(fmt.Sprintf("h%d%d", i, generation/2)) }

func (w *wild) decide(s *State) Decision {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, w.seed, s.Generation(), s.CancelRequested(), len(s.Peek("a")))
	for _, id := range []string{"w0", "w1", "w2", "w3", "park"} {
		status, p := s.Wait(id)
		if w.settled && status != WaitDone && status != WaitLate {
			status = WaitUnknown
		}
		_, _ = fmt.Fprint(h, status, string(p.Bytes()))
	}
	for _, id := range []string{"t0", "t1"} {
		_, _ = fmt.Fprint(h, s.TimerFired(id))
	}
	_, _ = fmt.Fprint(h, s.First("w0", "w1", "t0"))
	if h.Sum64()%3 > 0 {
		_, _ = fmt.Fprint(h, s.First("w0", "w1", string(hookID(0, s.Generation())), string(hookID(1, s.Generation()))))
		for i := range 3 {
			v := s.Hook(hookID(i, s.Generation()))
			if w.settled && v.State == StateActive {
				v.State = ""
			}
			_, _ = fmt.Fprint(h, v.State, v.Rejected != nil, string(v.Payload.Bytes()))
		}
	}
	if w.works {
		w.look(s, h)
	}
	return w.commands(s, bits(h.Sum64()))
}

// bits is a supply of choices.
type bits uint64

func (b *bits) take(n bits) bits {
	v := *b % n
	*b /= n
	return v
}

func (w *wild) commands(s *State, b bits) Decision {
	if s.CancelRequested() && b.take(2) == 0 {
		return decide(&AcceptCancel{})
	}
	var cs []Command
	for i, id := range []string{"w0", "w1", "w2", "w3"} {
		if b.take(2) == 0 {
			continue
		}
		c := wait1(id, []string{"a", "b"}[i%2])
		if i > 1 || i == 1 && s.Generation() == 1 {
			c.Timeout, c.Until = w.deadline([]int{0, 1, 4, 6}[i])
		}
		cs = append(cs, c)
	}
	for i, id := range []string{"t0", "t1"} {
		if b.take(2) == 1 {
			c := &StartTimer{ID: spec.TimerID(id)}
			c.In, c.At = w.deadline(2 * (i + 1))
			cs = append(cs, c)
		}
	}
	cs = append(cs, w.hooks(s, &b)...)
	var tasks []Command
	if w.works {
		tasks = w.tasks(&b)
	}
	cs = append(cs, w.updates(s)...)
	switch b.take(40) {
	case 0:
		return decide(append(append(cs, outliving(s, tasks)...), complete("done"))...)
	case 1, 2, 3:
		if ready, ok := leaving(s, tasks); ok {
			return decide(append(append(cs, ready...), &ContinueAsNew{Input: payload(b % 1000)})...)
		}
	case 4:
		return decide(append(append(cs, outliving(s, tasks)...), &Fail{Message: "no"})...)
	}
	cs = append(cs, tasks...)
	if w.parks || b.take(4) > 0 {
		cs = append(cs, wait1("park", "never"))
	}
	return decide(cs...)
}

// updates answers some of the updates that are open, each alike whenever it is seen; the others are left for ever.
func (w *wild) updates(s *State) (cs []Command) {
	for _, u := range s.Updates("a") {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, w.seed, u.UpdateID)
		switch h.Sum64() % 3 {
		case 0:
			cs = append(cs, &CompleteUpdate{ID: u.UpdateID, Output: u.Payload})
		case 1:
			cs = append(cs, &RejectUpdate{ID: u.UpdateID, Message: "no"})
		}
	}
	return cs
}

func (w *wild) hooks(s *State, b *bits) []Command {
	var cs []Command
	for i := range 3 {
		id := hookID(i, s.Generation())
		switch b.take(4) {
		case 0:
		case 1:
			cs = append(cs, &WithdrawHook{ID: id})
		case 2:
			if s.KnowsHook(id) {
				cs = append(cs, &WaitHook{ID: id})
				continue
			}
			fallthrough
		default:
			c := hookNamed(string(id))
			if i < 2 {
				c.In, c.At = w.deadline(3 + 2*i)
			}
			cs = append(cs, c)
		}
	}
	return cs
}

// deadline is so many seconds after the start of the run, or after the turn.
func (w *wild) deadline(seconds int) (*time.Duration, *time.Time) {
	d := time.Duration(seconds) * time.Second
	if !w.absolute {
		return &d, nil
	}
	at := epoch.Add(d)
	return nil, &at
}
