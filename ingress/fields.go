package ingress

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// fields are the members of an object of the configuration. Their refusals name the place, as a JSON Pointer without its
// first slash, and never a value.
type fields struct {
	at      string
	members map[string]json.RawMessage
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// below is the place of a member.
func below(at, name string) string {
	name = pointerEscaper.Replace(name)
	if at == "" {
		return name
	}
	return at + "/" + name
}

func (f fields) refuse(name, rule string) error {
	return &spec.InvalidError{Field: below(f.at, name), Rule: rule}
}

// objectAt reads an object. known are its members; none are any.
func objectAt(at string, raw json.RawMessage, known ...string) (fields, error) {
	f := fields{at: at}
	if err := json.Unmarshal(raw, &f.members); err != nil || f.members == nil {
		return f, &spec.InvalidError{Field: at, Rule: "must be an object"}
	}
	for name := range f.members {
		if len(known) > 0 && !slices.Contains(known, name) {
			return f, f.refuse(name, "is not known here")
		}
	}
	return f, nil
}

func (f fields) has(name string) bool { return f.members[name] != nil }

// read decodes a member that is there.
func (f fields) read(name string, to any, rule string) error {
	raw, ok := f.members[name]
	if !ok {
		return nil
	}
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, to) != nil {
		return f.refuse(name, rule)
	}
	return nil
}

func (f fields) text(name string) (text string, err error) {
	return text, f.read(name, &text, "must be a text")
}

func (f fields) texts(name string) (texts []string, err error) {
	return texts, f.read(name, &texts, "must be a list of texts")
}

func (f fields) flag(name string) (set bool, err error) {
	return set, f.read(name, &set, "must be true or false")
}

// oneOf is a text that must be one of those that are allowed; the first is the default.
func (f fields) oneOf(name string, allowed ...string) (string, error) {
	text, err := f.text(name)
	if err != nil || !f.has(name) {
		return allowed[0], err
	}
	if !slices.Contains(allowed, text) {
		return "", f.refuse(name, "must be one of "+strings.Join(allowed, ", "))
	}
	return text, nil
}

// span is a duration within bounds.
func (f fields) span(name string, otherwise, least, most time.Duration) (time.Duration, error) {
	text, err := f.text(name)
	if err != nil || !f.has(name) {
		return otherwise, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, f.refuse(name, "must be a duration from "+least.String()+" to "+most.String()+", such as 90s")
	}
	return d, nil
}

// moment is a time, zero when it is not there.
func (f fields) moment(name string) (time.Time, error) {
	text, err := f.text(name)
	if err != nil || !f.has(name) {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, f.refuse(name, "must be a time such as 2026-01-31T00:00:00Z")
	}
	return at, nil
}

// list is the members of an array, as they are.
func (f fields) list(name string) (items []json.RawMessage, err error) {
	return items, f.read(name, &items, "must be a list")
}
