package access

import (
	"errors"

	"github.com/flowgate-go/flowgate/db"
)

// ErrRefused says that a credential is not valid. It is the same for one that is malformed, unknown, expired, revoked or
// forged.
var ErrRefused = errors.New("credential refused")

// ErrUnavailable says that nobody could tell whether a credential is valid: the database, or the keys of an issuer, could
// not be had. The same request may succeed later.
var ErrUnavailable = errors.New("credential cannot be checked now")

// RefusedError is ErrRefused with its reason, one of a fixed set of words, for counters. Callers are not told.
type RefusedError struct{ Reason string }

// Error is the text of ErrRefused: a reason helps who guesses.
func (*RefusedError) Error() string { return ErrRefused.Error() }

// Is matches ErrRefused.
func (*RefusedError) Is(target error) bool { return target == ErrRefused }

func refused(reason string) error { return &RefusedError{Reason: reason} }

// The reasons.
const (
	reasonMalformed = "malformed"
	reasonUnknown   = "unknown"
	reasonExpired   = "expired"
	reasonRevoked   = "revoked"
	reasonHeader    = "header"
	reasonIssuer    = "issuer"
	reasonKey       = "key"
	reasonSignature = "signature"
	reasonClaims    = "claims"
	reasonLifetime  = "lifetime"
	reasonNamespace = "namespace"
	reasonParent    = "parent"
)

// Reasons are all that a RefusedError may have.
func Reasons() []string {
	return []string{
		reasonMalformed, reasonUnknown, reasonExpired, reasonRevoked, reasonHeader, reasonIssuer, reasonKey, reasonSignature,
		reasonClaims, reasonLifetime, reasonNamespace, reasonParent,
	}
}

// lookedUp translates the error of a look-up of a key.
func lookedUp(err error) error {
	if errors.Is(err, db.ErrAPIKeyNotFound) {
		return refused(reasonUnknown)
	}
	return &unavailableError{cause: err}
}

// unavailableError is ErrUnavailable with its cause, which is for matching, not for showing.
type unavailableError struct{ cause error }

// Error is the text of ErrUnavailable.
func (*unavailableError) Error() string { return ErrUnavailable.Error() }

// Unwrap makes the error match ErrUnavailable and its cause.
func (e *unavailableError) Unwrap() []error { return []error{ErrUnavailable, e.cause} }
