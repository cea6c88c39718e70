package gateway

import (
	"errors"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/ingress"
)

// eventNote is what the log says of an event of a configured source: words of ours and names of the configuration.
type eventNote struct{ source, outcome, reason, secret string }

func (n eventNote) log(line *zerolog.Event) {
	if n.source == "" {
		return
	}
	line.Str("source", n.source)
	for _, f := range []struct{ name, text string }{{"outcome", n.outcome}, {"reason", n.reason}, {"secret", n.secret}} {
		if f.text != "" {
			line.Str(f.name, f.text)
		}
	}
}

// refuseEvent translates the refusals that only events meet. Senders are not told why a signature is none; the log is.
func (k *call) refuseEvent(err error) error {
	if errors.Is(err, ingress.ErrSourceNotFound) {
		k.event = eventNote{} // the name is the sender's text
		return refuse(notFound)
	}
	if bad, ok := errors.AsType[*ingress.SignatureError](err); ok {
		k.event.reason = string(bad.Reason)
		return &refusal{problem: signatureInvalid, challenge: "Signature"}
	}
	if errors.Is(err, ingress.ErrMediaType) {
		return refuse(unsupportedMediaType)
	}
	if e, ok := errors.AsType[*inbox.ConflictError](err); ok {
		return &refusal{problem: eventConflict, differs: e.Differs}
	}
	return err
}
