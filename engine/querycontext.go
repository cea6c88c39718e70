package engine

import (
	"bytes"
	"encoding/json"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// QueryContext shows a run to the handler of a query: its current generation, with every message that was accepted
// before the query began. It has the reads of a Context and none of its decisions, and no Now: an answer is a function
// of the history and the argument.
//
// Between the turns of a run it shows more than workflow code has seen: Signals and hooks are as accepted, though no
// turn took them. Waits, timers and First are as the turns left them, because what a message leads to is for a turn to
// decide. Asking about a hook notes nothing.
//
// It belongs to one call and is not safe for concurrent use. Its use after the call returned, or after the call was
// abandoned for running too long, ends the goroutine that uses it.
type QueryContext struct {
	reads
	arg     canon.Payload
	settled int32
}

// Arg is the JSON argument of the query, as received; null when the caller gave none. See also QueryArg.
func (q *QueryContext) Arg() json.RawMessage {
	q.use()
	return bytes.Clone(q.arg.Bytes())
}

// Status is where the run stands: running, blocked, or its end.
func (q *QueryContext) Status() Status { return q.use().Status() }

// First is the ID, of those given, that settled first, as far as the turns of the run have decided it.
func (q *QueryContext) First(ids ...string) string { return q.use().FirstOf(q.settled, ids...) }

// QueryArg decodes the argument of a query by the rules of Input. The error is a *SchemaError that names the place;
// a handler returns it as it is.
func QueryArg[T any](q *QueryContext) (T, error) {
	q.use()
	v, err := decode[T]("argument", q.arg.Bytes())
	if err != nil {
		return v, misfit(err)
	}
	return v, nil
}
