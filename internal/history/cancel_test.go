package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// cancelled sends a message that cancels, a minute after the last one, and wants it accepted.
func (r *rig) cancelled(terminate bool) Receipt {
	r.t.Helper()
	r.pass(time.Minute)
	receipt, err := r.accept(&CancelRun{Run: testKey, Terminate: terminate})
	if err != nil || receipt.Verdict != Accepted {
		r.t.Fatalf("%+v %v, want it accepted", receipt, err)
	}
	if e := r.events[receipt.Sequence-1]; e.Data.Type() != TypeRunCancelRequested || !e.At.Equal(receipt.ReceivedAt) {
		r.t.Fatalf("receipt %+v, and event %d is %s of %v", receipt, e.Seq, e.Data.Type(), e.At)
	}
	return receipt
}

// again sends such a message and wants a duplicate with this receipt, and nothing changed.
func (r *rig) again(terminate bool, first Receipt) {
	r.t.Helper()
	r.pass(time.Minute)
	events := len(r.events)
	receipt, err := r.accept(&CancelRun{Run: testKey, Terminate: terminate})
	if err != nil {
		r.t.Fatalf("again: %v", err)
	}
	first.Verdict = Duplicate
	if diff := cmp.Diff(first, receipt); diff != "" {
		r.t.Fatalf("another receipt (-first +again):\n%s", diff)
	}
	if len(r.events) != events {
		r.t.Fatalf("a duplicate left %d events", len(r.events)-events)
	}
}

// agrees wants the rows to be what the events say.
func (r *rig) agrees() {
	r.t.Helper()
	if found, n := compareRows(project(r.events), r, r.now); n > 0 {
		r.t.Fatalf("%d differences: %v", n, found)
	}
}

// continuing goes over into a second generation when it is asked to cancel, and follows there when it is told to.
func continuing(s *State) Decision {
	_, told := got(s, "follow")
	switch {
	case s.CancelRequested() && s.Generation() == 1:
		return decide(&ContinueAsNew{Input: payload(nil)})
	case told:
		return decide(&AcceptCancel{})
	}
	return decide(wait1("follow", "follow"))
}

func TestAccept_a_repeated_cancel_has_the_receipt_of_the_first(t *testing.T) {
	t.Parallel()
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, idle)
		r.settle()
		first := r.cancelled(false)
		r.again(false, first)
		r.again(true, first)
	})
	t.Run("followed by code in another generation", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, continuing)
		r.auth.cooperative = true
		r.settle()
		first := r.cancelled(false)
		r.again(false, first)
		r.settle()
		r.again(false, first)
		r.pass(time.Minute)
		if _, err := r.signal("s", "follow", 1); err != nil {
			t.Fatal(err)
		}
		r.settle()
		if r.run.Status != Cancelled || r.run.Generation != 2 {
			t.Fatalf("%s in generation %d", r.run.Status, r.run.Generation)
		}
		r.again(false, first)
		r.again(true, first)
		r.agrees()
	})
	t.Run("and terminated since", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, continuing)
		r.auth.cooperative = true
		r.settle()
		first := r.cancelled(false)
		r.settle()
		if second := r.cancelled(true); second.Sequence <= first.Sequence || r.run.Status != Cancelled {
			t.Fatalf("terminated: %+v after %+v, and it is %s", second, first, r.run.Status)
		}
		r.again(false, first)
		r.again(true, first)
		r.agrees()
	})
}
