package history

import "time"

// StartWith starts a run, or attaches to the one that is there, and sends it a message: one or the other, and both or
// nothing. Attaching compares the workflow only, not version, input and labels. A message that is known is a duplicate
// whatever the rest says, and one that is refused starts no run.
type StartWith struct {
	Start *StartRun
	Send  *SendSignal // to the same run
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
	return auth.CheckSignal(m.Send.Name, m.Send.Payload)
}

func (r *Records) startWith(m *StartWith, auth Authority, lim Limits, now time.Time) (Receipt, error) {
	if !r.Fresh {
		if _, known := r.Signals[m.Send.ID]; !known && m.Start.Workflow != r.Run.Workflow {
			return Receipt{}, &RunConflictError{Differs: []string{"workflow"}}
		}
		return r.signal(m.Send, auth, lim, now)
	}
	if err := m.Refusal(auth); err != nil {
		return Receipt{}, err
	}
	if _, err := r.start(m.Start, now); err != nil {
		return Receipt{}, err
	}
	receipt := r.takeSignal(m.Send, lim, now) // a run without an event knows no signal and is not full
	receipt.StartedFresh = true
	return receipt, nil
}
