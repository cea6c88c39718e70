package db

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
)

// continuing goes over into a second generation when it is asked to cancel, and follows there after a signal.
func continuing(s *history.State) history.Decision {
	status, _ := s.Wait("follow")
	switch {
	case s.CancelRequested() && s.Generation() == 1:
		return decide(&history.ContinueAsNew{Input: null})
	case status == history.WaitDone:
		return decide(&history.AcceptCancel{})
	}
	return decide(wait("follow"))
}

// cancelledAgain cancels once more, in both ways, and wants the first receipt.
func (r *acceptRig) cancelledAgain(run string, first history.Receipt) {
	r.t.Helper()
	first.Verdict = history.Duplicate
	var again []history.Receipt
	for _, terminate := range []bool{false, r.view(run).Status.Ended()} {
		again = append(again, r.ok(&history.CancelRun{Run: keyOf(run), Terminate: terminate}))
	}
	if diff := cmp.Diff([]history.Receipt{first, first}, again); diff != "" {
		r.t.Errorf("%s: another receipt (-first +again):\n%s", run, diff)
	}
}

// cooperative starts a run whose code follows a wish to cancel, and brings it to its wait.
func (r *acceptRig) cooperative(run string) {
	r.t.Helper()
	m := r.startOf(run)
	m.SpecDigest = coopSpec
	r.ok(m)
	r.drain(by(continuing))
}

// A repeated cancel has the receipt of the first, before and after the end, whatever came between.
func TestAcceptCancelAgain(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("at once"))
	first := r.ok(&history.CancelRun{Run: keyOf("at once")})
	if first.Verdict != history.Accepted || first.Sequence != 2 {
		t.Fatalf("%+v", first)
	}
	r.cancelledAgain("at once", first)

	r.cooperative("asked")
	first = r.ok(&history.CancelRun{Run: keyOf("asked")})
	r.cancelledAgain("asked", first)
	r.drain(by(continuing))
	r.cancelledAgain("asked", first)
	r.ok(r.signal("asked", "s", "1"))
	r.drain(by(continuing))
	if v := r.view("asked"); v.Status != history.Cancelled || v.Generation != 2 {
		t.Fatalf("%+v", v)
	}
	r.cancelledAgain("asked", first)

	r.cooperative("forced")
	first = r.ok(&history.CancelRun{Run: keyOf("forced")})
	r.drain(by(continuing))
	if second := r.ok(&history.CancelRun{Run: keyOf("forced"), Terminate: true}); second.Sequence <= first.Sequence ||
		second.Verdict != history.Accepted {
		t.Fatalf("terminated: %+v after %+v", second, first)
	}
	r.cancelledAgain("forced", first)
	r.consistent()
	r.agrees()
}
