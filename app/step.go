package app

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// Step is a side effect of a program: the name by which workflows ask for it, the function that does it, and how a process
// does it. engine.TypedStep makes a StepFunc of a function with types of its own.
type Step struct {
	Name     string
	Do       engine.StepFunc
	Settings []engine.StepSetting
}

// stepParts say how a process does steps, and what else runs ask for.
type stepParts struct {
	queues       map[string]int
	lease, drain time.Duration    // 0: the engine's defaults
	grace        time.Duration    // of messages to runs that are not there; 0: the engine's default
	poster       *httppost.Poster // does http.post; nil: this process does not
	posts        int              // at a time
}

// postQueue is the queue of the built-in step, which has it to itself.
const postQueue = httppost.Name

// queued are the queues with that of http.post, which has as many places as the poster.
func (s stepParts) queued() map[string]int {
	queues := map[string]int{postQueue: s.posts}
	maps.Copy(queues, s.queues)
	return queues
}

// close ends what is left of http.post. The workers have stopped.
func (s stepParts) close() {
	if s.poster != nil {
		_ = s.poster.Close() // never fails
	}
}

// registerSteps gives the engine the steps of all registrations, and http.post where the host has none of its own.
func (p *process) registerSteps(context.Context) error {
	builtIn := p.steps.poster != nil && len(p.registrations) > 0
	for _, r := range p.registrations {
		for _, s := range r.Steps {
			if err := p.engine.RegisterStep(s.Name, s.Do, s.Settings...); err != nil {
				return fmt.Errorf("step %q: %w", s.Name, err)
			}
			builtIn = builtIn && s.Name != httppost.Name
		}
	}
	if !builtIn {
		return nil
	}
	return p.engine.RegisterStep(httppost.Name, p.steps.poster.Step(), engine.InQueue(postQueue))
}
