package history

import (
	"fmt"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// asked is what makes two commands ask for the same task: nothing else counts once it is known.
type asked struct {
	what   string // says which command it is
	name   string // of the step, the workflow or the signal
	target spec.RunID
	digest canon.Digest
}

func askedBy(c Command) (asked, bool) {
	switch c := c.(type) {
	case *ScheduleStep:
		return asked{"step", c.Name, "", c.Input.Digest()}, true
	case *StartChild:
		return asked{"child", c.Workflow, c.RunID, c.Input.Digest()}, true
	case *CallSignal:
		return asked{"signal", c.Name, c.Target, c.Payload.Digest()}, true
	case *CallCancel:
		return asked{"wish to cancel", "", c.Target, canon.Digest{}}, true
	}
	return asked{}, false
}

func (t *task) asked() asked {
	what := string(t.kind)
	switch {
	case t.kind == KindCall && t.name == "":
		what = "wish to cancel"
	case t.kind == KindCall:
		what = "signal"
	}
	return asked{what, t.name, t.target, t.digest}
}

// differs says in what two of the same ID differ, without what may be a secret; empty when they do not.
func (a asked) differs(b asked) string {
	switch {
	case a.what != b.what:
		return fmt.Sprintf("is a %s and a %s", a.what, b.what)
	case a.name != b.name:
		return fmt.Sprintf("has the name %q and %q", a.name, b.name)
	case a.target != b.target:
		return fmt.Sprintf("has the run %q and %q", a.target, b.target)
	case a.digest != b.digest:
		return "has two inputs"
	}
	return ""
}

// checkTask compares a command that opens a task with the history, and with an earlier command of the decision.
func (t *Turn) checkTask(c, prior Command) (BlockCause, string) {
	want, opens := askedBy(c)
	if !opens {
		return "", ""
	}
	if words := t.checkTarget(c, want); words != "" {
		return BlockDecision, words
	}
	if known, ok := t.state.tasks.get(c.id()); ok {
		if differs := known.asked().differs(want); differs != "" {
			return BlockNonDeterminism, fmt.Sprintf("%s %q %s: in the history and in the decision", c.kind(), c.id(), differs)
		}
	}
	if prior != nil {
		before, opened := askedBy(prior)
		if differs := before.differs(want); opened && differs != "" {
			return BlockDecision, fmt.Sprintf("%s %q %s in one decision", c.kind(), c.id(), differs)
		}
	}
	return "", ""
}

func (t *Turn) checkTarget(c Command, want asked) string {
	if want.name != "" || want.what != "wish to cancel" {
		if err := spec.CheckName("name", want.name); err != nil {
			return fmt.Sprintf("%s %q: %v", c.kind(), c.id(), err)
		}
	}
	if want.what == "step" {
		return ""
	}
	if err := want.target.Validate(); err != nil {
		return fmt.Sprintf("%s %q: %v", c.kind(), c.id(), err)
	}
	if want.what == "child" && want.target == t.state.key.RunID {
		return fmt.Sprintf("child %q: a run cannot be its own child", c.id())
	}
	return ""
}

// checkTasks judges what the decision comes to: how many tasks it leaves open, and what an ending leaves behind.
func (t *Turn) checkTasks(d Decision) string {
	ending := d.Commands[len(d.Commands)-1]
	withdrawn, opened := map[string]bool{}, map[string]bool{}
	more := 0
	for _, c := range d.Commands {
		known, named := t.state.tasks.get(c.id())
		switch c := c.(type) {
		case *WithdrawStep:
			if !withdrawn[c.id()] && (opened[c.id()] || named && known.state == TaskOpen) {
				more--
			}
			withdrawn[c.id()] = named || opened[c.id()]
		case *ScheduleStep, *StartChild, *CallSignal, *CallCancel:
			if named || opened[c.id()] {
				continue
			}
			if ending.kind() == KindEnding && !outlives(c, ending) {
				return fmt.Sprintf("%s %q is asked for beside an ending, so it would never be done: await it first", c.kind(), c.id())
			}
			opened[c.id()] = true
			more++
		}
	}
	if open := int(t.state.engaged) + more; len(opened) > 0 && open > t.lim.OpenTasks {
		return fmt.Sprintf("the decision would leave %d steps, children and calls open; at most %d may be", open, t.lim.OpenTasks)
	}
	if _, continues := ending.(*ContinueAsNew); continues {
		return t.leftBehind(withdrawn)
	}
	return ""
}

// outlives says that what a command asks for is done although the run, or its generation, ends in the same decision: a
// call is sent, and a child is started that goes on without its parent.
func outlives(c, ending Command) bool {
	switch c := c.(type) {
	case *CallSignal, *CallCancel:
		return true
	case *StartChild:
		_, continues := ending.(*ContinueAsNew)
		return c.OnParentEnd == ChildAbandon && !continues
	}
	return false
}

// leftBehind names what a new generation would not know: a step or a child that is open as far as workflow code was shown.
// Of several it is the first by ID.
func (t *Turn) leftBehind(withdrawn map[string]bool) string {
	if t.state.engaged == 0 {
		return ""
	}
	var first *task
	for task := range t.state.tasks.all() {
		open := task.shown == TaskOpen && task.kind != KindCall && !task.waived && !withdrawn[task.id]
		if open && (first == nil || task.id < first.id) {
			first = task
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("continue as new would leave %s %q behind: await it, or cancel it, first", first.kind, first.id)
}
