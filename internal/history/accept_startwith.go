package history

import "time"

// StartWith starts a run, or attaches to the one that is there, and sends it a message: one or the other, and both or
// nothing. Attaching compares the workflow only, not version, input and labels. A message that is known is a duplicate
// whatever the rest says, and one that is refused starts no run.
type StartWith struct {
	Start *StartRun
	Send  Message // *SendSignal or *SendUpdate, to the same run
	// Barred is why no run is started where there is none; nil when one may be.
	Barred error
}

// Target implements Message.
func (m *StartWith) Target() RunKey { return m.Start.Run }

// Refusal says why the message starts no run where there is none, or nil. auth is that of the spec to be started.
func (m *StartWith) Refusal(auth Authority) error {
	if m.Barred != nil {
		return m.Barred
	}
	switch send := m.Send.(type) {
	case *SendSignal:
		return auth.CheckSignal(send.Name, send.Payload)
	case *SendUpdate:
		return auth.CheckUpdate(send.Name, send.Payload)
	}
	panic("history: starts no run")
}

// knows says that a message was accepted before.
func (r *Records) knows(m Message) (known bool) {
	switch m := m.(type) {
	case *SendSignal:
		_, known = r.Signals[m.ID]
	case *SendUpdate:
		_, known = r.Updates[m.ID]
	}
	return known
}

// take accepts a message that was judged.
func (r *Records) take(m Message, lim Limits, now time.Time) Receipt {
	if m, ok := m.(*SendUpdate); ok {
		return r.takeUpdate(m, now)
	}
	return r.takeSignal(m.(*SendSignal), lim, now)
}

func (r *Records) startWith(m *StartWith, auth Authority, lim Limits, now time.Time) (Receipt, error) {
	if !r.Fresh {
		if !r.knows(m.Send) && m.Start.Workflow != r.Run.Workflow {
			return Receipt{}, &RunConflictError{Differs: []string{"workflow"}}
		}
		return r.Accept(m.Send, auth, lim, now)
	}
	if err := m.Refusal(auth); err != nil {
		return Receipt{}, err
	}
	if _, err := r.start(m.Start, now); err != nil {
		return Receipt{}, err
	}
	receipt := r.take(m.Send, lim, now) // a run without an event knows no message and is not full
	receipt.StartedFresh = true
	return receipt, nil
}
