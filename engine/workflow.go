package engine

import (
	"fmt"
	"strconv"

	"github.com/flowgate-go/flowgate/spec"
)

// Workflow is the function of a workflow's author. Each call says what the run waits for now: the whole of it, as a
// Decision. It is called again whenever something settles: a wait, a hook, a timer, a step, a child, a call; also when a message was accepted
// that no wait took.
//
// It must be a pure function of what the Context shows: no clock, randomness, I/O or package state, and no goroutine
// that uses the Context. A call that runs longer than Config.CallBudget is abandoned and blocks the run, and so does a
// panic, a returned error, and a decision that contradicts the history; but an error that is, or wraps, a *StepFailure, a
// *ChildFailure or a *CallFailure ends the run as failed. A blocked run goes on accepting messages, is
// tried again with a growing back-off, and continues after a fixed deploy or Retry.
//
// No library can keep a process alive through a panic in a goroutine that the function starts itself, nor through what
// Go calls a fatal error: endless recursion, memory that runs out, a map written by two goroutines.
type Workflow func(ctx *Context) (Decision, error)

// ID names one round of a loop: ID("item", 3) is "item-3". Something that settled stays settled for the generation, so
// each round needs an ID of its own.
func ID(prefix string, n int) string { return prefix + "-" + strconv.Itoa(n) }

// Code identifies a workflow's function: by the name and version of its spec.
type Code struct {
	Workflow string
	Version  string
}

// String is for diagnoses and logs.
func (c Code) String() string { return fmt.Sprintf("%s version %s", c.Workflow, c.Version) }

func codeOf(s spec.WorkflowSpec) Code { return Code{Workflow: s.Name, Version: s.Version} }
