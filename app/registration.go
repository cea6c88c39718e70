package app

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Registration is a workflow of a program, its contract and its code, with the steps that it asks for. One without Spec and
// Workflow brings steps alone: the process that does a step need not have the workflow that asks for it.
type Registration struct {
	Spec     spec.WorkflowSpec
	Workflow engine.Workflow
	Code     []engine.CodeOption // the handlers of the spec's queries
	Steps    []Step
	// Example marks a workflow to play with: dev registers it, serve and worker only with --examples.
	Example bool
}

// Examples collects the workflows that each visits, as examples.
func Examples(each func(visit func(spec.WorkflowSpec, engine.Workflow))) []Registration {
	var found []Registration
	each(func(s spec.WorkflowSpec, fn engine.Workflow) {
		found = append(found, Registration{Spec: s, Workflow: fn, Example: true})
	})
	return found
}

// withoutExamples are the registrations that a program always has.
func withoutExamples(all []Registration) []Registration {
	var found []Registration
	for _, r := range all {
		if !r.Example {
			found = append(found, r)
		}
	}
	return found
}

// hasWorkflow is false for a registration of steps alone.
func (r Registration) hasWorkflow() bool {
	return r.Workflow != nil || r.Spec.Name != "" || len(r.Steps) == 0
}

// count tells how many workflows and steps of their own registrations have.
func count(all []Registration) (workflows, steps int) {
	for _, r := range all {
		if r.hasWorkflow() {
			workflows++
		}
		steps += len(r.Steps)
	}
	return workflows, steps
}
