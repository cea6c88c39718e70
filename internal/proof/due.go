package proof

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Due says how a run that just took a message fails to be due; it is empty when nothing is wrong. Every accepted message
// makes a turn due at once. A blocked run goes on resting, unless it is blocked because nothing was left to wait for, or
// somebody asks for a retry.
func Due(o Operation, a Answer, before, after Record, now time.Time) string {
	if a.Verdict != history.Accepted || after.Run.Status.Ended() {
		return ""
	}
	if after.Run.UpdatedAt.After(now) {
		now = after.Run.UpdatedAt
	}
	due := after.Run.WakeAt != nil && !after.Run.WakeAt.After(now)
	resting := after.Run.Status == history.Blocked && after.Run.BlockCause != history.BlockNoProgress
	switch {
	case o.Verb == Retry && after.Run.Status != history.Blocked, o.Verb != Retry && resting:
		if Stamp(before.Run.WakeAt) != Stamp(after.Run.WakeAt) {
			return "its schedule changed from " + Stamp(before.Run.WakeAt) + " to " + Stamp(after.Run.WakeAt)
		}
	case !due:
		return "no turn is due: it sleeps until " + Stamp(after.Run.WakeAt)
	}
	return ""
}
