package history

import (
	"fmt"
	"strconv"
	"time"
)

// RowKind says which row a difference is about.
type RowKind string

// The kinds of rows.
const (
	RowRun    RowKind = "run"
	RowEvent  RowKind = "event"
	RowSignal RowKind = "signal"
	RowHook   RowKind = "hook"
	RowTask   RowKind = "task"
	RowUpdate RowKind = "update"
	RowDue    RowKind = "due" // the run's entry in the schedule
)

// Difference is one place where a row is not what the events say, or where an event breaks a law of histories. It never
// holds a payload, a digest or metadata: of those it says that they differ.
type Difference struct {
	Row    RowKind
	ID     string // of the signal, hook, task or update; the seq of an event; empty for the run, but for its number when its row is missing
	Field  string // the column; empty when it is about the row as a whole
	Events string // what the events say; empty stands for nothing
	Stored string // what the row says
	Text   string // what is wrong, where two values do not say it
}

// String says it in one line.
func (d Difference) String() string {
	where := string(d.Row) + ": "
	switch {
	case d.Row == RowRun && d.Field != "":
		where = "" // what names the run stands before it
	case d.Row == RowEvent:
		where = "event " + d.ID + ": "
	case d.ID != "":
		where = fmt.Sprintf("%s %q: ", d.Row, d.ID)
	}
	if d.Field != "" {
		where += d.Field + ": "
	}
	if d.Text != "" {
		return where + d.Text
	}
	return fmt.Sprintf("%sevents say %s, the row says %s", where, quoted(d.Events), quoted(d.Stored))
}

func quoted(value string) string {
	if value == "" {
		return "nothing"
	}
	return strconv.Quote(value)
}

func seqText(seq int64) string { return strconv.FormatInt(seq, 10) }

// maxListed bounds the differences of one run that are listed; all are counted.
const maxListed = 100

func (p *Projection) note(d Difference) {
	if p.count++; p.count <= maxListed {
		p.found = append(p.found, d)
	}
}

// comparison notes where one row is not what the events say.
type comparison struct {
	p   *Projection
	row RowKind
	id  string
}

func (c comparison) text(field, events, stored string) {
	if events != stored {
		c.p.note(Difference{Row: c.row, ID: c.id, Field: field, Events: events, Stored: stored})
	}
}

func (c comparison) number(field string, events, stored int64) {
	if events != stored {
		c.text(field, seqText(events), seqText(stored))
	}
}

func (c comparison) time(field string, events, stored *time.Time) {
	if !equalTime(events, stored) {
		c.text(field, timeText(events), timeText(stored))
	}
}

// hidden is for what must not be shown.
func (c comparison) hidden(field string, equal bool) {
	if !equal {
		c.says(field, "differs")
	}
}

func (c comparison) says(field, text string) {
	c.p.note(Difference{Row: c.row, ID: c.id, Field: field, Text: text})
}

func equalTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
