// Package workflows holds the workflows that dev mode registers: a playground for curl, and each a short lesson.
//
//   - InvoiceApproval: wait for one signal.
//   - ApprovalHook: ask a person through a callback URL, with expiry and withdrawal as branches.
//   - Collect: take signals one after the other, and continue as new.
//   - Race: a wait with a time-out, round by round.
//   - Quorum: N of M answers, the rest withdrawn in the same commit.
//   - StraightQuorum: the same as straight-line code, with package flow.
//   - Checkout: a payment that must be captured within an hour.
package workflows

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Each visits every workflow of this package with its spec.
func Each(visit func(spec.WorkflowSpec, engine.Workflow)) {
	visit(InvoiceSpec, InvoiceApproval)
	visit(ApprovalSpec, ApprovalHook)
	visit(CollectSpec, Collect)
	visit(RaceSpec, Race)
	visit(QuorumSpec, Quorum)
	visit(StraightQuorumSpec, StraightQuorum)
	visit(CheckoutSpec, Checkout)
}
