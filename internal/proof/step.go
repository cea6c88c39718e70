package proof

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Steps are the names of the steps of traces. Both do the same: see Do.
var Steps = []string{"proof.step", "proof.other"}

// stepIDs are those that code uses, in every generation.
var stepIDs = []string{"p0", "p1", "p2"}

// plan is the input of a step: it says what each attempt comes to.
type plan struct {
	Of    string `json:"of"`
	Fails int    `json:"fails,omitempty"` // so many attempts fail before one succeeds
	How   string `json:"how,omitempty"`   // they fail: final, fatal, later, or in no special way
}

// The ways in which attempts fail. A policy knows the code of a fatal error as one after which no attempt follows.
const (
	failsFinal = "final"
	failsFatal = "fatal"
	failsLater = "later"
)

// Fault is how an attempt failed.
type Fault struct {
	Code    string
	Message string
	Final   bool           // no attempt is to follow
	After   *time.Duration // the pause that it asks for
}

// Error has the message.
func (f *Fault) Error() string { return f.Message }

// Do is what an attempt of a step comes to. It depends on nothing else, so that whoever makes an attempt knows.
func Do(input []byte, attempt int) (output any, fault *Fault) {
	var p plan
	if err := json.Unmarshal(input, &p); err != nil {
		return nil, &Fault{Code: "input", Message: "no plan", Final: true}
	}
	if attempt > p.Fails {
		return map[string]any{"of": p.Of, "attempt": attempt}, nil
	}
	f := &Fault{Code: "again", Message: fmt.Sprintf("attempt %d of %s", attempt, p.Of)}
	switch p.How {
	case failsFinal:
		f.Final = true
	case failsFatal:
		f.Code = failsFatal
	case failsLater:
		f.After = new(1500 * time.Millisecond)
	}
	return nil, f
}

// policies are those of steps: one attempt, several at once, after a pause and after longer and longer ones.
var policies = []spec.RetryPolicy{
	spec.NoRetry(),
	spec.FixedRetry(3, 0),
	spec.FixedRetry(3, time.Second),
	spec.FixedRetry(2, 0).WithNonRetryable(failsFatal),
	spec.ExponentialRetry(4, 500*time.Millisecond, 2*time.Second).WithNonRetryable("other", failsFatal),
}

// step is a step of this code: always the same under an ID, because a step that is known must not change.
func (c Code) step(id string) Wish {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, c.Seed, id)
	b := supply(mixed(h.Sum64()))
	p := plan{Of: fmt.Sprint(id, " of ", c.Seed)}
	p.Fails = []int{0, 0, 0, 1, 1, 2, 3, 5}[b.take(8)]
	if p.Fails > 0 {
		p.How = []string{"", "", failsFinal, failsFatal, failsLater}[b.take(5)]
	}
	w := Wish{Do: "step", ID: id, Name: Steps[b.take(2)], Value: p, Retry: policies[b.take(supply(len(policies)))]}
	if c.Holds && b.take(3) == 0 {
		w.Retry = w.Retry.WithHold()
	}
	if b.take(4) == 0 {
		w.In = new([]time.Duration{time.Second, 2500 * time.Millisecond}[b.take(2)])
	}
	return w
}

// mixed spreads what differs over all bits.
func mixed(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// steps asks for steps and withdraws some. Beside an ending it asks for none: none would be done. Before the next
// generation it mostly withdraws what may be open.
func (c Code) steps(ending string, b *supply) []Wish {
	var all []Wish
	withdraws := ending == "continue" && b.take(4) > 0
	for _, id := range stepIDs {
		switch n := b.take(12); {
		case withdraws, n == 0:
			all = append(all, Wish{Do: "cancel-step", ID: id})
		case n < 6 && ending == "":
			all = append(all, c.step(id))
		}
	}
	return all
}
