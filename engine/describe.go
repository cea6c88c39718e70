package engine

import (
	"fmt"

	"github.com/flowgate-go/flowgate/internal/history"
)

// describe words a command for a diagnosis: what it names, never a payload or a token.
func describe(c history.Command) string {
	switch c := c.(type) {
	case *history.OpenWait:
		return fmt.Sprintf("a wait %q for signal %q", c.ID, c.Signal)
	case *history.StartTimer:
		return fmt.Sprintf("timer %q", c.ID)
	case *history.WaitHook:
		return fmt.Sprintf("a wait for hook %q", c.ID)
	case *history.CreateHook:
		return fmt.Sprintf("the creation of hook %q", c.ID)
	case *history.WithdrawHook:
		return fmt.Sprintf("the disposal of hook %q", c.ID)
	case *history.ScheduleStep:
		return fmt.Sprintf("step %q of %q with %s", c.ID, c.Name, c.Input)
	case *history.WithdrawStep:
		return fmt.Sprintf("the cancelling of step %q", c.ID)
	case *history.StartChild:
		return fmt.Sprintf("child %q of %q with %s", c.ID, c.Workflow, c.Input)
	case *history.CallSignal:
		return fmt.Sprintf("call %q of signal %q with %s", c.ID, c.Name, c.Payload)
	case *history.CallCancel:
		return fmt.Sprintf("call %q to cancel", c.ID)
	case *history.Complete:
		return fmt.Sprintf("a completion with %s", c.Output)
	case *history.Fail:
		return "a failure"
	case *history.AcceptCancel:
		return "an end as cancelled"
	case *history.ContinueAsNew:
		return fmt.Sprintf("a continuation with %s", c.Input)
	}
	return "another command"
}
