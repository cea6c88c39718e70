package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Payload is a JSON value that passed the door: the bytes as received and the
// digest of their canonical form. It is immutable and safe for concurrent use.
// The zero Payload is absent, which is not the same as the payload null.
type Payload struct {
	raw    []byte
	digest Digest
}

// Parse checks raw against every rule of form and computes its digest. It
// copies raw, reads it once and does work in proportion to its length times
// its depth at most. Errors: *SizeError (ErrPayloadTooLarge), *PayloadError.
func Parse(raw []byte, lim Limits) (Payload, error) {
	lim = lim.orDefault()
	if len(raw) > lim.MaxBytes {
		return Payload{}, &SizeError{Size: len(raw), Limit: lim.MaxBytes}
	}
	canonical := raw
	if !isCanonical(raw, lim.MaxDepth) {
		var err error
		if canonical, err = canonicalize(raw, lim.MaxDepth); err != nil {
			return Payload{}, err
		}
	}
	return Payload{raw: bytes.Clone(raw), digest: sha256.Sum256(canonical)}, nil
}

// Marshal encodes a value made by code, without HTML escapes, and parses it
// under every rule but the configured limits: it may have 4 MiB and depth 64.
// As in encoding/json, bytes of a Go string that are not UTF-8 become U+FFFD.
// Errors: the encoder's, *SizeError, *PayloadError.
func Marshal(v any) (Payload, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Payload{}, fmt.Errorf("encode payload: %w", err)
	}
	// The encoder ends every value with a newline.
	return Parse(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), Limits{MaxBytes: madeMaxBytes})
}

// Restore returns the payload whose bytes and digest were stored earlier. It
// checks nothing and keeps raw: the caller gives it away. Empty bytes restore
// the absent payload.
func Restore(raw []byte, d Digest) Payload {
	if len(raw) == 0 {
		return Payload{}
	}
	return Payload{raw: raw, digest: d}
}

// Bytes returns the payload as received, nil if absent. The caller must not
// change it.
func (p Payload) Bytes() []byte { return p.raw }

// Digest returns the SHA-256 of the canonical form, zero if absent.
func (p Payload) Digest() Digest { return p.digest }

// IsZero reports whether the payload is absent.
func (p Payload) IsZero() bool { return len(p.raw) == 0 }

// Canonical computes the canonical form: a new slice on every call, nil if the
// payload is absent. It is also nil for a restored payload whose bytes are
// none, because nothing but Parse vouches for them.
func (p Payload) Canonical() []byte {
	canonical, err := canonicalize(p.raw, len(p.raw))
	if err != nil {
		return nil
	}
	return canonical
}

// String describes the payload by its size, so that a payload that is printed
// by accident does not end in a log.
func (p Payload) String() string {
	if p.IsZero() {
		return "payload(absent)"
	}
	return fmt.Sprintf("payload(%d bytes)", len(p.raw))
}

// GoString is String, for %#v.
func (p Payload) GoString() string { return p.String() }

// Equal reports whether both payloads are absent or are the same JSON value.
func Equal(a, b Payload) bool {
	return a.IsZero() == b.IsZero() && a.digest == b.digest
}
