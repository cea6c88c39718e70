package proof

import (
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// sight shows a state of the model to workflow code.
type sight struct{ s *history.State }

// Namespace implements Sight.
func (v sight) Namespace() spec.Namespace { return v.s.Key().Namespace }

// Generation implements Sight.
func (v sight) Generation() int { return v.s.Generation() }

// StartedAt implements Sight.
func (v sight) StartedAt() time.Time { return v.s.StartedAt() }

// CancelRequested implements Sight.
func (v sight) CancelRequested() bool { return v.s.CancelRequested() }

// Peek implements Sight.
func (v sight) Peek(name string) int { return len(v.s.Peek(name)) }

// Wait implements Sight.
func (v sight) Wait(id string) (payload string, done, late bool) {
	status, p := v.s.Wait(id)
	return string(p.Bytes()), status == history.WaitDone, status == history.WaitLate
}

// Asked implements Sight.
func (v sight) Asked(name string) []Ask {
	var all []Ask
	for _, u := range v.s.Updates(name) {
		all = append(all, Ask{string(u.UpdateID), string(u.Payload.Bytes()), ""})
	}
	return all
}

// Answered implements Sight.
func (v sight) Answered(name string) []Ask {
	var all []Ask
	for _, u := range v.s.DoneUpdates(name) {
		all = append(all, Ask{string(u.UpdateID), string(u.Payload.Bytes()), string(u.Output.Bytes())})
	}
	return all
}

// Fired implements Sight.
func (v sight) Fired(timer string) bool { return v.s.TimerFired(timer) }

// Step implements Sight.
func (v sight) Step(id string) (state, told string) {
	switch t := v.s.Task(id); t.State {
	case history.TaskCompleted:
		return "done", string(t.Output.Bytes())
	case history.TaskFailed:
		return "failed", fmt.Sprintf("%s %s %s %d", t.Failure.Reason, t.Failure.Code, t.Failure.Message, t.Failure.Attempt)
	case history.TaskCancelled:
		return "cancelled", ""
	default:
		return "none", ""
	}
}

// Hook implements Sight.
func (v sight) Hook(id string) (state, told string) {
	h := v.s.Hook(spec.HookID(id))
	if h.Rejected != nil {
		return "rejected", string(h.Rejected.Reason) + " " + string(h.Rejected.OwnerRun)
	}
	switch h.State {
	case "":
		return "none", ""
	case history.StateActive:
		return "open", ""
	case history.StateResumed:
		return "answered", string(h.Payload.Bytes())
	case history.StateExpired:
		return "expired", ""
	default:
		return "disposed", ""
	}
}

// First implements Sight.
func (v sight) First(ids ...string) string { return v.s.First(ids...) }
