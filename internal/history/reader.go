package history

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/spec"
)

// reader reads JSON objects in the one spelling in which writer and encoding/json write them: members in the order of the
// struct, no white space, no escapes, nothing twice. Anything else makes it give up, also what is good JSON: it decides how
// fast an event is read, never whether.
type reader struct {
	rest  []byte
	first bool // the next member is the first of its object
	bad   bool // it gave up; what was read means nothing
}

// token reads a text of punctuation.
func (r *reader) token(text string) {
	if r.bad || len(r.rest) < len(text) || string(r.rest[:len(text)]) != text {
		r.bad = true
		return
	}
	r.rest = r.rest[len(text):]
}

func (r *reader) open() {
	r.token("{")
	r.first = true
}

func (r *reader) close() {
	r.token("}")
	r.first = false
}

// has reads the key of the next member if it is this one.
func (r *reader) has(key string) bool {
	rest := r.rest
	if !r.first {
		if len(rest) == 0 || rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
	n := len(key)
	if r.bad || len(rest) < n+3 || rest[0] != '"' || string(rest[1:n+1]) != key || rest[n+1] != '"' || rest[n+2] != ':' {
		return false
	}
	r.rest, r.first = rest[n+3:], false
	return true
}

// must reads the key of a member that is always written.
func (r *reader) must(key string) {
	if !r.has(key) {
		r.bad = true
	}
}

// quoted reads a string without escapes and returns what is between its quotes.
func (r *reader) quoted() []byte {
	r.token(`"`)
	ascii := true
	for i, c := range r.rest {
		switch {
		case c == '"':
			text := r.rest[:i]
			r.rest = r.rest[i+1:]
			r.bad = r.bad || !ascii && !utf8.Valid(text)
			return text
		case c < ' ' || c == '\\':
			r.bad = true
			return nil
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	r.bad = true
	return nil
}

func (r *reader) text(key string) string {
	r.must(key)
	return string(r.quoted())
}

// textIf reads a text that is left out when empty.
func (r *reader) textIf(key string) string {
	if !r.has(key) {
		return ""
	}
	return string(r.quoted())
}

// number reads a whole number that is not negative and surely fits.
func (r *reader) number() int64 {
	n, digits := int64(0), 0
	for digits < len(r.rest) && '0' <= r.rest[digits] && r.rest[digits] <= '9' && digits <= maxPlainDigits {
		n = 10*n + int64(r.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > maxPlainDigits || digits > 1 && r.rest[0] == '0' {
		r.bad = true
		return 0
	}
	r.rest = r.rest[digits:]
	return n
}

const maxPlainDigits = 18

// digest reads 32 bytes in hex.
func (r *reader) digest(key string, into *[32]byte) {
	r.must(key)
	text := r.quoted()
	if len(text) != 2*len(into) {
		r.bad = true
		return
	}
	if _, err := hex.Decode(into[:], text); err != nil {
		r.bad = true
	}
}

// bytesIf reads bytes in base64 that are left out when there are none.
func (r *reader) bytesIf(key string) []byte {
	if !r.has(key) {
		return nil
	}
	text := r.quoted()
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	r.bad = r.bad || err != nil
	return out[:n]
}

// timeIf reads a time that is left out when there is none.
func (r *reader) timeIf(key string) *time.Time {
	if !r.has(key) {
		return nil
	}
	literal := r.rest
	n := len(r.quoted())
	at := new(time.Time)
	if r.bad || at.UnmarshalJSON(literal[:n+2]) != nil {
		r.bad = true
		return nil
	}
	return at
}

// trueIf reads a flag that is left out when it is not set.
func (r *reader) trueIf(key string) bool {
	if !r.has(key) {
		return false
	}
	r.token("true")
	return true
}

// envelope reads what stands before the data, behind the opening brace.
func (r *reader) envelope() (env envelope) {
	if r.has("taken") {
		env.Taken = make([]int64, 0, 1+bytes.Count(r.upTo(']'), []byte{','}))
		r.list(func() { env.Taken = append(env.Taken, r.number()) })
	}
	if r.has("read") {
		r.list(func() { env.Read = append(env.Read, spec.HookID(r.quoted())) })
	}
	return env
}

// list reads an array of at least one element.
func (r *reader) list(element func()) {
	r.token("[")
	for !r.bad {
		element()
		if len(r.rest) == 0 || r.rest[0] != ',' {
			break
		}
		r.rest = r.rest[1:]
	}
	r.token("]")
}

// upTo is the rest as far as a byte, or all of it.
func (r *reader) upTo(c byte) []byte {
	if end := bytes.IndexByte(r.rest, c); end >= 0 {
		return r.rest[:end]
	}
	return r.rest
}
