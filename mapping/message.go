package mapping

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// Message is what came in. Nothing in it is trusted.
type Message struct {
	// Header has the values of each header in the order they came, under lower-case names. A header that is read must
	// be there once.
	Header map[string][]string
	// Key and Subject are those of a broker's message; empty elsewhere.
	Key, Subject string
	Body         []byte // JSON
}

// event is a message whose body was read.
type event struct {
	*Message
	payload canon.Payload
	whole   any // the body without what is ignored; numbers are json.Number
	pruned  bool
	limits  canon.Limits
}

// read checks the body and takes out what is ignored. Errors: *canon.PayloadError, *canon.SizeError.
func read(m *Message, ignore []pointer, limits canon.Limits) (*event, error) {
	payload, err := canon.Parse(m.Body, limits)
	if err != nil {
		return nil, err
	}
	e := &event{Message: m, payload: payload, limits: limits}
	dec := json.NewDecoder(bytes.NewReader(m.Body))
	dec.UseNumber()
	if err := dec.Decode(&e.whole); err != nil {
		return nil, &canon.PayloadError{Rule: "the payload is not valid JSON (RFC 8259)"}
	}
	for _, p := range ignore {
		e.pruned = p.remove(e.whole) || e.pruned
	}
	if !e.pruned {
		return e, nil
	}
	e.payload, err = e.encode(e.whole)
	return e, err
}

// encode is a value of the body as a payload.
func (e *event) encode(value any) (canon.Payload, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return canon.Payload{}, &canon.PayloadError{Rule: "a number is not one of JSON"}
	}
	limits := e.limits
	if limits.MaxBytes > 0 {
		// What was taken as received may be longer when it is written again: escapes are spelled otherwise.
		limits.MaxBytes = max(limits.MaxBytes, buf.Len())
	}
	return canon.Parse(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), limits)
}

// header is the value of a header that must be there once.
func (m *Message) header(name string) (string, string) {
	switch values := m.Header[name]; {
	case len(values) == 0 || values[0] == "":
		return "", ruleAbsent
	case len(values) > 1:
		return "", ruleRepeated
	default:
		return values[0], ""
	}
}

// digest is that of the body without what is ignored, in hex.
func (e *event) digest() string {
	d := e.payload.Digest()
	return hex.EncodeToString(d[:])
}

// textOf is a value of the body as text: a string as it is, a whole number as it is written. Other numbers have several
// spellings, and other values no text that identifies. The second result is the rule that is broken, if one is.
func textOf(value any) (string, string) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return "", ruleEmpty
		}
		return v, ""
	case json.Number:
		if whole(string(v)) {
			return string(v), ""
		}
	case nil:
		return "", ruleAbsent
	}
	return "", ruleText
}

// whole says that a number is spelled in the one way a whole number has here.
func whole(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	return text == "0" || digits[0] != '0'
}
