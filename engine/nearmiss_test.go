package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/spec"
)

func TestNamesThatAreNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		near bool
	}{
		{"order.paid", "order_paid", true},
		{"order.paid", "Order Paid ", true},
		{"order.paid", "order.piad", true},
		{"order.paid", "order.pay", true},
		{"invoice.approved", "invoice.aproved", true},
		{"ÜBER", "über", true},
		{"a", "b", false},
		{"go", "no", false},
		{"paid", "pads", false},
		{"paid", "pain", true},
		{"order.paid", "order.shipped", false},
		{"...", "---", false},
		{"", "x", false},
		{strings.Repeat("x", 255), strings.Repeat("y", 255), false},
		{strings.Repeat("x", 255), strings.Repeat("x", 254), true},
	} {
		if isNear(c.a, c.b) != c.near || isNear(c.b, c.a) != c.near {
			t.Errorf("%q and %q: near is %t", c.a, c.b, !c.near)
		}
	}
}

// What is a name that somebody waits for is no near miss of another one, and of very many names only some are compared.
func TestNearMissesAreNamesThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	x := Explanation{
		Waiting: []Waited{{Waiting: Waiting{Kind: "signal", Name: "item.1"}}, {Waiting: Waiting{Kind: "signal", Name: "item-1"}}, {Waiting: Waiting{Kind: "hook", ID: "approve"}}},
		Unread:  []UnreadSignals{{Name: "item.1"}, {Name: "ITEM 1"}},
		DeadLetters: []HeldLetter{
			{Kind: "message", Name: "aprove"}, {Kind: "message", Name: "aprove"}, {Kind: "step", Name: "aproove"}, {Kind: "message", Name: "declare"},
		},
	}
	want := []NearMiss{
		{"ITEM 1", "item.1", nearUnread},
		{"ITEM 1", "item-1", nearUnread},
		{"aprove", "approve", nearLetter},
		{"declare", "declared", nearLetter},
	}
	if diff := cmp.Diff(want, x.nearMisses(spec.WorkflowSpec{Signals: []spec.Signal{{Name: "declared"}}})); diff != "" {
		t.Error(diff)
	}
	n := &nearNames{known: map[NearMiss]bool{}}
	for i := range 10 * maxNearNames {
		n.add(fmt.Sprint("order.paid", i), []string{"order.paid"}, nearUnread)
	}
	if len(n.list) > maxNearNames {
		t.Errorf("%d names were compared", len(n.list))
	}
}
