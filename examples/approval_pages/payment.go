package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Payment is what is to be approved.
type Payment struct {
	Subject   string   `json:"subject"`
	Amount    string   `json:"amount"`
	Requester string   `json:"requester"`
	Approvers []string `json:"approvers"`
	Needed    int      `json:"needed"`
}

// Decision is what a page answers.
type Decision struct {
	Approved bool   `json:"approved"`
	Reviewer string `json:"reviewer"`
	Comment  string `json:"comment,omitempty"`
}

// PaymentSpec declares what an approval looks like.
var PaymentSpec = spec.WorkflowSpec{
	Name: "payments.approve", Version: "1", Description: "Several people approve a payment that somebody else asks for.",
	Input: engine.SchemaOf[Payment](),
	Hooks: []spec.Hook{{Name: "approve", Description: "The money leaves the house.", Schema: engine.SchemaOf[Decision]()}},
}

// Approve asks each approver on a page of their own, and counts people, not answers: by who was known to give the answer,
// never by what it says.
func Approve(c *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[Payment](c)
	if err != nil {
		return engine.Decision{}, err
	}
	var yes, no []string
	for _, person := range in.Approvers {
		d, answered, err := engine.HookPayload[Decision](c, hookOf(person))
		switch {
		case err != nil:
			return engine.Decision{}, err
		case answered && d.Approved:
			yes = join(yes, c.HookActor(hookOf(person)))
		case answered:
			no = join(no, c.HookActor(hookOf(person)))
		}
	}
	switch {
	case len(no) > 0: // one veto is enough
		return c.Complete("rejected by " + strings.Join(no, ", ")), nil
	case len(yes) >= in.Needed:
		return c.Complete("approved by " + strings.Join(yes, ", ")), nil
	}
	ask := spec.HumanApproval(in.Subject).WithData("amount", in.Amount).WithRequester(in.Requester).WithRule(in.Needed, len(in.Approvers))
	var asked []engine.Decision
	for _, person := range in.Approvers {
		asked = append(asked, c.CreateHook(hookOf(person), engine.As("approve"), engine.Metadata(ask)),
			c.RunStep("tell-"+person, "tell", person, spec.RetryPolicy{}))
	}
	return c.Await(asked...), nil
}

func hookOf(person string) string { return "approve-" + person }

// join adds a person who is not there under any spelling.
func join(people []string, person string) []string {
	if slices.ContainsFunc(people, func(known string) bool { return spec.SamePerson(known, person) }) {
		return people
	}
	return append(people, person)
}

// mailbox stands for what sends messages to people. A step sends each of them one, however often the workflow is called.
type mailbox struct {
	mu   sync.Mutex
	mail map[string][]string // links by person
}

// tell is the step that sends a person the link to their page.
func (m *mailbox) tell(ctx context.Context, step *engine.Step, person string) (any, error) {
	link, err := step.PageURL(ctx, hookOf(person), person)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mail[person] = append(m.mail[person], link)
	return nil, nil // the link is a secret: it does not go into the history
}

// of are the links that a person got.
func (m *mailbox) of(person string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mail[person]
}
