package app

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Registration is a workflow of a program: its contract and its code.
type Registration struct {
	Spec     spec.WorkflowSpec
	Workflow engine.Workflow
	Code     []engine.CodeOption // the handlers of the spec's queries
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
