package ingress

import (
	"time"

	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/mapping"
)

// Forecast is what would become of a request.
type Forecast struct {
	Unverified bool           // the source takes whatever comes
	SecretID   string         // which secret it is signed with
	Challenge  string         // it is a handshake
	Message    *inbox.Message // what it is mapped to; nil when it is not
	Ignored    inbox.Reason   // why it is not
	Why        string         // in words
	Policy     inbox.Policy
}

// Foresee says what Receive would make of a request that arrived at a time, up to the inbox, and changes nothing. Inbox.Foresee
// goes on from there. Errors: as Receive, up to the mapping.
func (r *Receiver) Foresee(name string, req *Request, at time.Time) (Forecast, error) {
	s, ok := r.sources[name]
	if !ok {
		return Forecast{}, ErrSourceNotFound
	}
	read, err := s.read(req, at)
	f := Forecast{Unverified: s.verifier == nil, SecretID: read.secretID, Challenge: read.challenge, Policy: s.policy()}
	if err != nil || read.challenge != "" {
		return f, err
	}
	target, err := s.mapping.Target(&mapping.Message{Header: req.Header, Body: read.body}, r.limits)
	if f.Ignored = unmapped(err); f.Ignored != "" {
		f.Why = err.Error()
		return f, nil
	}
	if err != nil {
		return f, err
	}
	m := s.message(target)
	f.Message = &m
	return f, nil
}
