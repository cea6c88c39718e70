package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

// race is one run whose turns come at once and one whose turns come late, are cut, or meet broken code.
type race struct{ fast, slow *rig }

// pass lets time go by; the fast run is settled at every moment at which something is due.
func (r *race) pass(d time.Duration) {
	end := r.fast.now.Add(d)
	for wake := r.fast.run.WakeAt; wake != nil && !wake.After(end); wake = r.fast.run.WakeAt {
		if wake.After(r.fast.now) {
			r.fast.now = *wake
		}
		r.fast.settle()
	}
	r.fast.now, r.slow.now = end, end
}

// message delivers one message to both. A hook is answered while it is open in both.
func (r *race) message(t *rapid.T, i int) {
	hook := hookID(rapid.IntRange(0, 2).Draw(t, "hook"), r.fast.run.Generation)
	kind := rapid.IntRange(0, 12).Draw(t, "message")
	if kind < 3 && !(r.fast.answerable(hook) && r.slow.answerable(hook)) {
		return
	}
	var m Message
	switch kind {
	case 10, 11, 12:
		if m = r.outcome(t, i); m == nil {
			return
		}
	case 0, 1:
		m = &ResumeHook{Run: testKey, HookID: hook, Payload: payload(i)}
	case 2:
		m = &DisposeHook{Run: testKey, HookID: hook}
	case 3:
		m = &CancelRun{Run: testKey}
	default:
		name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
		m = &SendSignal{Run: testKey, ID: spec.SignalID(fmt.Sprint("s", i)), Name: name, Payload: payload(i)}
	}
	_, _ = r.fast.accept(m)
	_, _ = r.slow.accept(m)
	r.fast.settle()
}

func (r *rig) answerable(id spec.HookID) bool {
	h := r.hooks[id]
	return h.State == StateActive && !h.Expired(r.now)
}

// dawdle does with the slow run what a busy or broken process does.
func (r *race) dawdle(t *rapid.T) {
	due := r.slow.run.WakeAt != nil && !r.slow.run.WakeAt.After(r.slow.now)
	switch rapid.IntRange(0, 6).Draw(t, "dawdle") {
	case 0:
		r.slow.broken = false
		_, _ = r.slow.accept(&RetryRun{Run: testKey})
		r.slow.settle()
	case 1:
		if due {
			r.slow.turnCut(rapid.IntRange(0, 2).Draw(t, "calls"))
		}
	case 2:
		r.slow.broken = due
		r.slow.settle()
	case 3:
		r.slow.broken = false
		r.slow.settle()
	}
}

// A run whose turns come late has the history of one whose turns come at once: the same facts, taken in the same order.
func TestPace_the_result_does_not_depend_on_when_turns_run(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := &wild{seed: rapid.Uint64().Draw(t, "seed"), absolute: true, settled: true, parks: rapid.Bool().Draw(t, "parks")}
		code.works = rapid.Bool().Draw(t, "works")
		r := &race{newRig(t, code.decide), newRig(t, code.decide)}
		refuse := drawRefusals(t, 1)
		for _, one := range []*rig{r.fast, r.slow} {
			one.auth.cooperative, one.refuse = true, refuse
		}
		r.slow.lim.TurnEvents = rapid.IntRange(1, 40).Draw(t, "turn events")
		r.fast.settle()
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			r.pass(drawPause(t, r.fast.now))
			r.message(t, i)
			r.dawdle(t)
		}
		code.parks, r.slow.broken = true, false
		for _, one := range []*rig{r.fast, r.slow} {
			_, _ = one.accept(&RetryRun{Run: testKey})
			one.settle()
		}
		if diff := cmp.Diff(taken(r.fast), taken(r.slow)); diff != "" {
			t.Fatalf("fast against slow:\n%s\nfast %v\nslow %v", diff, r.fast.story(), r.slow.story())
		}
	})
}

// drawPause is a time that ends between deadlines, or at the first one: messages of that instant are late for it. At any
// later one a wait may be opened whose deadline is past; whether a message of the same instant was there before then
// depends on the turn.
func drawPause(t *rapid.T, now time.Time) time.Duration {
	if first := epoch.Add(time.Second).Sub(now); first > 0 && rapid.IntRange(0, 2).Draw(t, "to the first deadline") == 0 {
		return first
	}
	return time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms"))*time.Millisecond + time.Microsecond
}

// taken is what happened to the run, without the acceptance of messages, and without what depends on when turns run: that
// the code was blocked for a while, and that others saw a hook expire before the code withdrew it or ended the run.
func taken(r *rig) []string {
	var lines []string
	var datas []Data
	for _, e := range r.events {
		line := describe(e)
		switch d := e.Data.(type) {
		case *SignalReceived, *HookResumed, *RunCancelRequested, *FactsTaken, *RunBlocked, *RunUnblocked,
			*StepCompleted, *StepFailed, *ChildCompleted, *ChildFailed, *CallDelivered, *CallFailed:
			continue
		case *HookDisposed:
			if !d.ByCode {
				continue
			}
		case *HookExpired:
			if d.ByCode {
				line = strings.Replace(line, "expired", "disposed", 1)
			}
		}
		if !strings.HasSuffix(line, " park") {
			lines, datas = append(lines, line), append(datas, e.Data)
		}
	}
	for i := len(lines) - 2; r.run.Status.Ended() && (closesHook(datas[i]) || closesTask(datas[i])); i-- {
		if closesHook(datas[i]) {
			lines[i] = "closed " + string(hookIDOf(datas[i]))
		}
	}
	return lines
}

// closesTask says that an ending wrote the event.
func closesTask(d Data) bool {
	cancelled, ok := d.(*StepCancelled)
	return ok && cancelled.Cause != StateDisposed || d.Type() == TypeChildReleased
}

func closesHook(d Data) bool {
	expired, ok := d.(*HookExpired)
	return ok && !expired.ByCode || d.Type() == TypeHookClosed
}
