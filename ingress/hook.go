package ingress

import (
	"context"

	"github.com/flowgate-go/flowgate/spec"
)

// VerifyHook says whether a callback to a hook is signed, now, with a secret of a source whose runs are in the hook's
// namespace. header has the values of each header under lower-case names; body is as it was received. Errors:
// ErrSourceNotFound, also for a source of another namespace; *SignatureError. A source that is unverified proves nothing.
func (r *Receiver) VerifyHook(_ context.Context, source string, ns spec.Namespace, header map[string][]string, body []byte) error {
	s, ok := r.sources[source]
	if !ok || s.mapping.Namespace() != ns {
		return ErrSourceNotFound
	}
	if s.verifier == nil {
		return &SignatureError{ReasonNoSecret}
	}
	_, err := s.verify(&Request{Header: header, Body: body}, r.clock())
	return err
}
