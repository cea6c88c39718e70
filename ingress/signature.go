package ingress

import (
	"strconv"
	"time"
)

// Reason says why a request is not verified. It is for operators: senders are not told.
type Reason string

// The reasons.
const (
	ReasonAbsent    Reason = "absent"    // a header that the signature needs is not there, or is empty
	ReasonRepeated  Reason = "repeated"  // such a header is there more than once
	ReasonMalformed Reason = "malformed" // such a header is not of the provider's form
	ReasonMismatch  Reason = "mismatch"  // no signature is that of the body under an active secret
	ReasonStale     Reason = "stale"     // it was signed too long ago
	ReasonFuture    Reason = "future"    // it was signed too far in the future
	ReasonNoSecret  Reason = "no-secret" // no secret of the source is active now
)

// SignatureError says that a request is not verified.
type SignatureError struct{ Reason Reason }

// Error names the reason. It is for logs and operators.
func (e *SignatureError) Error() string { return "the signature is not valid: " + string(e.Reason) }

// verifier is a way to sign.
type verifier interface {
	// open takes the headers apart, which costs nothing that depends on the body.
	open(r *Request) (claim, Reason)
	// signed are the headers that the signature covers, in lower case.
	signed() []string
	// key is the key that the text of a secret stands for; rule says what is wrong with it.
	key(text string) (key []byte, rule string)
}

// claim is what a request says of its own signature.
type claim struct {
	at    time.Time // zero when none is signed
	valid func(key []byte) bool
}

// verify checks a request under all secrets that are active. Which of them it was is the ID that comes back.
func (s *source) verify(r *Request, now time.Time) (secretID string, err error) {
	if s.verifier == nil {
		return "", nil // said outright in the configuration
	}
	c, reason := s.verifier.open(r)
	if reason != "" {
		return "", &SignatureError{reason}
	}
	reason = ReasonNoSecret
	for _, secret := range s.secrets {
		if !secret.active(now) {
			continue
		}
		if reason = ReasonMismatch; c.valid(secret.key) {
			if reason = s.timely(c.at, now); reason != "" {
				break
			}
			return secret.id, nil
		}
	}
	return "", &SignatureError{reason}
}

// timely compares whole seconds, as that is what is signed: a difference of the tolerance is allowed, one second more is
// not, in either direction.
func (s *source) timely(at, now time.Time) Reason {
	tolerance := int64(s.tolerance / time.Second)
	switch diff := now.Unix() - at.Unix(); {
	case at.IsZero():
		return ""
	case diff > tolerance:
		return ReasonStale
	case diff < -tolerance:
		return ReasonFuture
	}
	return ""
}

// maxTimestamp bounds the digits of a time in seconds.
const maxTimestamp = 11

// parseTimestamp reads seconds since 1970 in the one spelling that they have.
func parseTimestamp(text string) (time.Time, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || len(text) > maxTimestamp || strconv.FormatInt(n, 10) != text {
		return time.Time{}, false
	}
	return time.Unix(n, 0), true
}

// secret is one of a source, with the time in which it counts.
type secret struct {
	id       string
	key      []byte
	from, to time.Time // zero: no bound
}

// active says that the secret counts: from its first moment on, and no more at its last.
func (s secret) active(now time.Time) bool {
	return len(s.key) > 0 && !now.Before(s.from) && (s.to.IsZero() || now.Before(s.to))
}
