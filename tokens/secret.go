package tokens

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// Redacted is what takes the place of a secret wherever one is printed.
const Redacted = "[redacted]"

// Secret is a text that must not be seen. It prints as [redacted] under every
// verb, in JSON, in text encodings and in slog. The text is kept inside a
// function value, where neither fmt nor reflection reaches it, also when the
// Secret sits in an unexported field, whose methods fmt cannot call.
//
// The zero Secret is empty. Secrets do not compare with ==; see Equal.
type Secret struct{ reveal func() string }

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal returns the text. What is done with it is in the caller's hands: it
// belongs in the one answer or request it is for, and in no error or log.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal compares two secrets in a time that depends on their lengths only.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// Format implements fmt.Formatter: [redacted], whatever the verb and flags.
func (Secret) Format(f fmt.State, _ rune) { writeRedacted(f) }

// String returns [redacted].
func (Secret) String() string { return Redacted }

// MarshalText returns [redacted]; it also serves JSON, XML and flags.
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// writeRedacted ignores the error: fmt offers no way to report one.
func writeRedacted(f fmt.State) { _, _ = f.Write([]byte(Redacted)) }
