package proof

import (
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// TaskRow is the row of an open step.
type TaskRow struct {
	history.Task
	Failures  int // attempts that failed
	Strikes   int // of those, attempts that were lost
	RunAfter  time.Time
	LastError string // of a failed attempt
}

// Held is when a step is due that waits for somebody.
var Held = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// LetterRow is a dead letter.
type LetterRow struct {
	history.DeadLetter
	State history.LetterState
}

func (t TaskRow) line() string {
	return fmt.Sprintf("task %d/%s %s %s #%d closes %s attempt %d failed %d lost %d after %s begun %t held %t %q",
		t.Generation, t.ID, t.Kind, t.Name, t.Seq, Stamp(t.CloseAt), t.Attempt, t.Failures, t.Strikes, Stamp(&t.RunAfter),
		t.Begun, t.Held, t.LastError)
}

func (l LetterRow) line() string {
	f := l.Letter.Failure
	return fmt.Sprintf("letter %d/%s %s %s %q %q attempt %d at %s %s",
		l.Task.Generation, l.Task.ID, l.Task.Name, f.Reason, f.Code, f.Message, f.Attempt, Stamp(&l.At), l.State)
}
