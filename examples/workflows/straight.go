package workflows

import (
	"slices"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// StraightQuorumSpec is the contract of StraightQuorum: that of Quorum.
var StraightQuorumSpec = func() spec.WorkflowSpec {
	s := QuorumSpec
	s.Name, s.Description = "quorum.straight", s.Description+" Written with package flow."
	return s
}()

// StraightQuorum is Quorum as straight-line code. The history of its runs is the same, event by event.
var StraightQuorum = flow.Func(func(w *flow.Workflow, in ballot) (tally, error) {
	asked, approvedBy := in.ask(w), []string{}
	for len(approvedBy) < in.Needed && len(approvedBy)+len(asked) >= in.Needed {
		hook, err := flow.Next(w, &asked)
		if err != nil {
			return tally{}, err
		}
		if v, err := flow.AwaitHook[vote](hook); err == nil && v.Approved {
			approvedBy = append(approvedBy, hook.ID()[len(approver):])
		}
	}
	flow.Dispose(asked...)
	slices.Sort(approvedBy)
	if len(approvedBy) < in.Needed {
		return tally{"rejected", approvedBy}, nil
	}
	return tally{"approved", approvedBy}, nil
})

type vote struct {
	Approved bool `json:"approved"`
}

const approver = "approver-"

// ask opens a hook for everybody.
func (b ballot) ask(w *flow.Workflow) (asked []*flow.Hook) {
	for _, name := range b.Approvers {
		person := spec.HumanApproval("Approval by " + name)
		asked = append(asked, flow.CreateHook(w, approver+name, b.ExpiresIn.option(engine.As("vote"), engine.Metadata(person))...))
	}
	return asked
}
