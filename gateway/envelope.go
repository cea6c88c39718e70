package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/spec"
)

// envelope is a request body that is an object of our own fields, not a payload. Its members are kept as received.
type envelope map[string]json.RawMessage

// readEnvelope reads an object that has no other members than the known ones and each at most once. An empty body is
// the empty object.
func readEnvelope(body []byte, known ...string) (envelope, error) {
	if len(body) == 0 {
		return envelope{}, nil
	}
	members, err := readObject(body, "")
	if err != nil {
		return nil, err
	}
	for name := range members {
		if !slices.Contains(known, name) {
			return nil, unknownField(name, "is not a field of this request")
		}
	}
	return members, nil
}

// unknownField refuses a field or parameter by its name, which is the caller's own text and is left out when it is long.
func unknownField(name, rule string) error {
	at := ""
	if len(name) <= spec.MaxNameBytes {
		at = "/" + pointerEscaper.Replace(name)
	}
	return &refusal{problem: invalidArgument, violations: []violation{{FieldPath: at, Message: rule}}}
}

// readObject splits an object into its members. The standard decoder alone would keep the last of two equal keys and
// put a replacement character where a string is not Unicode; both are refused here.
func readObject(text []byte, at string) (envelope, error) {
	if !utf8.Valid(text) {
		return nil, malformedAt(at, "must be valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, malformedAt(at, "must be a JSON object")
	}
	members := envelope{}
	for dec.More() {
		if err := readMember(dec, members, at); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, malformedAt(at, "must be valid JSON (RFC 8259)")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, malformedAt(at, "must not be followed by more text")
	}
	return members, nil
}

func readMember(dec *json.Decoder, members envelope, at string) error {
	token, err := dec.Token()
	name, isName := token.(string)
	if err != nil || !isName {
		return malformedAt(at, "must be valid JSON (RFC 8259)")
	}
	if _, twice := members[name]; twice {
		return malformedAt(at, "must not have the same key twice")
	}
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return malformedAt(at, "must be valid JSON (RFC 8259)")
	}
	members[name] = value
	return nil
}

func malformedAt(at, rule string) error {
	return &refusal{problem: malformedPayload, violations: []violation{{FieldPath: at, Message: rule}}}
}

// text returns a member that is a string. It reports whether the member is there.
func (e envelope) text(name string) (string, bool, error) {
	raw, given := e[name]
	if !given {
		return "", false, nil
	}
	s, err := readString(raw, name)
	return s, true, err
}

// name returns a member that is an identifier: 1 to 255 bytes, as spec.CheckName says, or empty when it is absent.
func (e envelope) name(field string) (string, error) {
	s, given, err := e.text(field)
	if err != nil || !given {
		return "", err
	}
	return s, spec.CheckName(field, s)
}

// labels returns a member that is an object of strings, nil when it is absent.
func (e envelope) labels(name string) (spec.Labels, error) {
	raw, given := e[name]
	if !given {
		return nil, nil
	}
	members, err := readObject(raw, "/"+name)
	if err != nil {
		return nil, err
	}
	out := make(spec.Labels, len(members))
	for key, value := range members {
		if out[key], err = readString(value, name+"/"+key); err != nil {
			return nil, err
		}
	}
	return out, out.Validate()
}

func readString(raw json.RawMessage, field string) (string, error) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", &spec.InvalidError{Field: field, Rule: "must be a string"}
	}
	if loneSurrogate(raw) {
		return "", malformedAt(pointer(field), "must not hold a lone surrogate")
	}
	return s, nil
}

// loneSurrogate says whether a JSON string has half of a UTF-16 pair as an escape (RFC 8259 section 8.2). The decoder
// puts U+FFFD in its place, so that is the only case to look at closely.
func loneSurrogate(raw []byte) bool {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return true
	}
	return bytes.Count([]byte(s), []byte("\uFFFD")) > replacements(raw)
}

// replacements counts the replacement characters that the string itself writes, plainly or as an escape.
func replacements(raw []byte) int {
	n := bytes.Count(raw, []byte("\uFFFD"))
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] == 'u' && i+6 <= len(raw) && bytes.EqualFold(raw[i+2:i+6], []byte("fffd")) {
			n++
		}
		i++
	}
	return n
}
