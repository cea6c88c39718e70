package history

// Limits bound what one run may hold. Every field must be positive.
type Limits struct {
	Backlog       int   // unread signals of a run
	WarnEvents    int64 // events of a generation from which a run is reported as long
	MaxEvents     int64 // events of a generation from which new signals are refused
	OpenWaits     int   // open waits and timers of a run
	OpenHooks     int   // open hooks of a run
	OpenTasks     int   // open steps, children and calls of a run
	OpenUpdates   int   // open updates of a run
	TurnEvents    int   // events of one turn; what is left goes on in the next
	BlockFirstSec int   // seconds of the first back-off of a blocked run; doubles
	BlockMaxSec   int   // seconds of the longest back-off of a blocked run
}

// DefaultLimits are the documented defaults.
func DefaultLimits() Limits {
	return Limits{
		Backlog: 10_000, WarnEvents: 10_000, MaxEvents: 50_000, OpenWaits: 64, OpenHooks: 1_000, OpenTasks: 1_000, OpenUpdates: 1_000, TurnEvents: 1_000,
		BlockFirstSec: 1, BlockMaxSec: 300,
	}
}
