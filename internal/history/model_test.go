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

// ledger remembers every answer, so that a redelivery can be compared with the first one.
type ledger struct {
	r        *rig
	receipts map[string]Receipt
}

func (l *ledger) step(t *rapid.T) {
	r := l.r
	switch op := rapid.IntRange(0, 19).Draw(t, "op"); op {
	case 0, 1, 2, 3:
		id := fmt.Sprint("s", rapid.IntRange(0, 30).Draw(t, "id"))
		name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
		receipt, err := r.signal(id, name, rapid.IntRange(0, 1).Draw(t, "v"))
		l.check(t, "signal "+id, receipt, err)
	case 4, 5:
		id := string(hookID(rapid.IntRange(0, 2).Draw(t, "hook"), r.run.Generation))
		receipt, err := r.resume(id, rapid.IntRange(0, 1).Draw(t, "v"))
		l.check(t, "resume "+id, receipt, err)
	case 6:
		id := string(hookID(rapid.IntRange(0, 2).Draw(t, "hook"), r.run.Generation))
		receipt, err := r.dispose(id)
		l.check(t, "dispose "+id, receipt, err)
	case 7:
		r.pass(time.Duration(rapid.IntRange(0, 6).Draw(t, "halves")) * 500 * time.Millisecond)
	case 8:
		if rapid.IntRange(0, 5).Draw(t, "rare") == 0 {
			receipt, err := r.accept(&CancelRun{Run: testKey, Terminate: rapid.IntRange(0, 3).Draw(t, "terminate") == 0})
			l.check(t, "cancel", receipt, err)
		}
	case 9, 10:
		if r.run.WakeAt != nil && !r.run.WakeAt.After(r.now) {
			r.turnCut(rapid.IntRange(0, 2).Draw(t, "calls"))
		}
	case 11:
		l.trouble(t)
	case 12, 13, 14, 15:
		if !l.task(t) {
			r.settle()
		}
	case 16, 17:
		id := fmt.Sprint("u", rapid.IntRange(0, 20).Draw(t, "id"))
		name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
		receipt, err := r.update(id, name, rapid.IntRange(0, 1).Draw(t, "v"))
		l.check(t, "update "+id, receipt, err)
	default:
		r.settle()
	}
}

// trouble breaks the code, mends it and makes the run due, or lets somebody take the tokens of hooks.
func (l *ledger) trouble(t *rapid.T) {
	r := l.r
	switch rapid.IntRange(0, 2).Draw(t, "trouble") {
	case 0:
		r.broken = rapid.Bool().Draw(t, "broken")
	case 1:
		r.broken = false
		_, _ = r.accept(&RetryRun{Run: testKey})
	default:
		r.refuse = drawRefusals(t, r.run.Generation)
	}
}

func drawRefusals(t *rapid.T, generation int) map[spec.HookID]Rejection {
	refuse := map[spec.HookID]Rejection{}
	for i := range 3 {
		if rapid.IntRange(0, 3).Draw(t, "taken") == 0 {
			refuse[hookID(i, generation)] = Rejection{Reason: RejectTaken, OwnerRun: "other"}
		}
	}
	return refuse
}

func (l *ledger) check(t *rapid.T, identity string, receipt Receipt, err error) {
	if err != nil {
		return
	}
	first, known := l.receipts[identity]
	switch {
	case !known && receipt.Verdict == Accepted:
		l.receipts[identity] = receipt
	case !known:
		if !strings.HasPrefix(identity, "dispose") { // workflow code may have done it
			t.Fatalf("%s: duplicate of nothing", identity)
		}
	case receipt.Verdict != Duplicate && identity == "cancel": // a request may be followed by a termination
	case receipt.Verdict != Duplicate:
		t.Fatalf("%s: accepted twice", identity)
	default:
		first.Verdict = Duplicate
		if diff := cmp.Diff(first, receipt); diff != "" {
			t.Fatalf("%s: another receipt (-first +again):\n%s", identity, diff)
		}
	}
}

func TestModel_random_traces_keep_every_law(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := anyWild(t)
		r := newRig(t, code.decide)
		r.auth.cooperative = rapid.Bool().Draw(t, "cooperative")
		r.lim.TurnEvents = rapid.IntRange(1, 40).Draw(t, "turn events")
		r.lim.OpenUpdates = rapid.IntRange(1, 8).Draw(t, "open updates")
		l := &ledger{r: r, receipts: map[string]Receipt{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l.step(t)
			rowsEqualEvents(t, r)
			neverAsleepWithWork(t, r)
		}
		r.broken, code.parks = false, true
		_, _ = r.accept(&RetryRun{Run: testKey})
		r.settle()
		nothingIsForgotten(t, r)
		everyMessageIsShownOnce(t, r)
		consumptionIsFIFO(t, r)
		waitsEndOnce(t, r)
		waitsKeepTheirDeadlines(t, r)
		tasksEndOnce(t, r)
		updatesEndOnce(t, r)
		nothingAfterTheEnd(t, r)
	})
}
