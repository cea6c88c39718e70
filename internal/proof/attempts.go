package proof

import (
	"fmt"
	"slices"
	"sync"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Attempts notes which attempts of steps were begun. It is safe for concurrent use.
type Attempts struct {
	mu    sync.Mutex
	begun map[history.RunKey]map[stepKey][]int
	late  map[attemptKey]bool
}

// stepKey names a step in its run.
type stepKey struct {
	generation int
	id         string
}

// attemptKey names an attempt over all runs.
type attemptKey struct {
	run history.RunKey
	stepKey
	attempt int
}

// Begin notes that the function of a step is called.
func (a *Attempts) Begin(run history.RunKey, generation int, step string, attempt int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun == nil {
		a.begun = map[history.RunKey]map[stepKey][]int{}
	}
	if a.begun[run] == nil {
		a.begun[run] = map[stepKey][]int{}
	}
	key := stepKey{generation, step}
	a.begun[run][key] = append(a.begun[run][key], attempt)
}

// End notes that the function has ended. An attempt is late beside which a newer one has begun by then.
func (a *Attempts) End(run history.RunKey, generation int, step string, attempt int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := stepKey{generation, step}
	if slices.Max(a.begun[run][key]) == attempt {
		return
	}
	if a.late == nil {
		a.late = map[attemptKey]bool{}
	}
	a.late[attemptKey{run, key, attempt}] = true
}

// Broken lists what is wrong with the attempts of a run's steps: none is made twice, no more than the policy allows, none of
// what nobody asked for, and none begins after the outcome, which is not that of a late one. Where leases end while attempts
// are under way, and processes end, one more may begin in the moment in which the outcome is stored, in vain, and some are
// given back.
func (a *Attempts) Broken(run history.RunKey, events []history.Event, leasesEnd bool) (broken []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, last := map[stepKey]int{}, map[stepKey]int{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *history.StepScheduled:
			asked[stepKey{e.Generation, string(d.StepID)}] = max(d.Retry.Attempts, 1)
		case *history.StepCompleted:
			last[stepKey{e.Generation, string(d.StepID)}] = d.Attempt
		case *history.StepFailed:
			if d.Code == lostCode {
				continue // its function may not have been called
			}
			last[stepKey{e.Generation, string(d.StepID)}] = d.Attempt
		}
	}
	for key, begun := range a.begun[run] {
		says := func(format string, args ...any) {
			step := fmt.Sprintf("step %s of generation %d, attempts %v: ", key.id, key.generation, begun)
			broken = append(broken, step+fmt.Sprintf(format, args...))
		}
		slices.Sort(begun)
		switch most := asked[key]; {
		case most == 0:
			says("nobody asked for it")
		case !leasesEnd && len(begun) > most:
			says("only %d may be made", most)
		}
		if len(slices.Compact(slices.Clone(begun))) != len(begun) {
			says("one was made twice")
		}
		if n := last[key]; a.late[attemptKey{run, key, n}] {
			says("the outcome is that of attempt %d, which was late", n)
		}
		newest := begun[len(begun)-1]
		if n := last[key]; n > 0 && n < newest && !(leasesEnd && n == newest-1) {
			says("the outcome is that of attempt %d", n)
		}
	}
	for key, n := range last {
		if begun := a.begun[run][key]; len(begun) == 0 || begun[len(begun)-1] < n {
			broken = append(broken, fmt.Sprintf("step %s of generation %d: attempt %d has an outcome and was not made",
				key.id, key.generation, n))
		}
	}
	return broken
}
