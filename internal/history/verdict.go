package history

// Verdict is the answer to a message, the same closed vocabulary on every surface.
type Verdict string

// The verdicts. Accepted and Duplicate come with a receipt, the others with an error.
const (
	Accepted  Verdict = "accepted"
	Duplicate Verdict = "duplicate"
	Conflict  Verdict = "conflict"
	Gone      Verdict = "gone"
	Unknown   Verdict = "unknown"
	Invalid   Verdict = "invalid"
	Denied    Verdict = "denied"
	Busy      Verdict = "busy"
)
