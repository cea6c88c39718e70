package mapping

import (
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/spec"
)

// Template makes a text of a message. It is written in one of four ways: as a JSON Pointer into the body, "/data/id"; as
// the name of a header, "header:X-Event"; as a text with places in braces, "order-{/data/id}", where a place is a
// pointer, a header, "key", "subject" or "digest"; or as a plain text. "{{" and "}}" stand for braces.
//
// A template that joins several values is reversible: a value that holds the text that separates it from the next one is
// refused, so that "ab" and "c" never make what "a" and "bc" make.
type Template struct {
	parts []part
}

// part is a piece of plain text, or a place.
type part struct {
	text  string // of a piece of plain text
	place place
}

// place is where a value is.
type place struct {
	kind    placeKind
	pointer pointer
	header  string // in lower case
}

type placeKind int

const (
	placeNone placeKind = iota
	placePointer
	placeHeader
	placeKey
	placeSubject
	placeDigest
)

// String is the place as the configuration writes it.
func (p place) String() string {
	switch p.kind {
	case placePointer:
		return p.pointer.String()
	case placeHeader:
		return headerPrefix + p.header
	case placeKey:
		return "key"
	case placeSubject:
		return "subject"
	case placeDigest:
		return "digest"
	case placeNone:
	}
	return ""
}

const headerPrefix = "header:"

// maxTemplate bounds the text of a template, in bytes.
const maxTemplate = 1024

// ParseTemplate reads a template. The error is an *spec.InvalidError for the field.
func ParseTemplate(field, text string) (Template, error) {
	switch {
	case text == "":
		return Template{}, &spec.InvalidError{Field: field, Rule: "must not be empty"}
	case len(text) > maxTemplate:
		return Template{}, &spec.InvalidError{Field: field, Rule: "must be at most 1024 bytes"}
	}
	t := Template{}
	rule := ""
	if text[0] == '/' || strings.HasPrefix(text, headerPrefix) {
		var p place
		p, rule = parsePlace(text)
		t.parts = []part{{place: p}}
	} else {
		t.parts, rule = parseParts(text)
	}
	if rule == "" {
		rule = t.check()
	}
	if rule != "" {
		return Template{}, &spec.InvalidError{Field: field, Rule: rule}
	}
	return t, nil
}

func parseParts(text string) (parts []part, rule string) {
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, part{text: plain.String()})
			plain.Reset()
		}
	}
	for text != "" {
		brace := strings.IndexAny(text, "{}")
		if brace < 0 {
			plain.WriteString(text)
			break
		}
		plain.WriteString(text[:brace])
		text = text[brace:]
		switch {
		case strings.HasPrefix(text, "{{"), strings.HasPrefix(text, "}}"):
			plain.WriteByte(text[0])
			text = text[2:]
		case text[0] == '}':
			return nil, "has a } without a {; write }} for the character"
		default:
			inside, rest, closed := strings.Cut(text[1:], "}")
			if !closed {
				return nil, "has a { without a }; write {{ for the character"
			}
			p, rule := parsePlace(inside)
			if rule != "" {
				return nil, rule
			}
			flush()
			parts = append(parts, part{place: p})
			text = rest
		}
	}
	flush()
	return parts, ""
}

func parsePlace(text string) (place, string) {
	switch text {
	case "key":
		return place{kind: placeKey}, ""
	case "subject":
		return place{kind: placeSubject}, ""
	case "digest":
		return place{kind: placeDigest}, ""
	}
	if name, ok := strings.CutPrefix(text, headerPrefix); ok {
		name = strings.ToLower(name)
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return place{}, "names a header that is none"
		}
		return place{kind: placeHeader, header: name}, ""
	}
	if !strings.HasPrefix(text, "/") {
		return place{}, "names a place that is none of /pointer, header:name, key, subject and digest"
	}
	p, rule := parsePointer(text)
	return place{kind: placePointer, pointer: p}, rule
}

// check refuses a template whose values could not be told apart again.
func (t Template) check() string {
	for i := 1; i < len(t.parts); i++ {
		if t.parts[i].place.kind != placeNone && t.parts[i-1].place.kind != placeNone {
			return "has two places side by side: put a text between them"
		}
	}
	return ""
}

// places are those that the template reads.
func (t Template) places() (all []place) {
	for _, p := range t.parts {
		if p.place.kind != placeNone {
			all = append(all, p.place)
		}
	}
	return all
}

// eval makes the text. The error is an *Error without its field.
func (t Template) eval(e *event) (string, *Error) {
	var b strings.Builder
	last := len(t.places())
	for i, p := range t.parts {
		if p.place.kind == placeNone {
			b.WriteString(p.text)
			continue
		}
		last--
		value, rule := e.text(p.place)
		if rule == "" && last > 0 && strings.Index(value+t.parts[i+1].text, t.parts[i+1].text) < len(value) {
			rule = ruleSeparator
		}
		if rule != "" {
			return "", &Error{Place: p.place.String(), Rule: rule}
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

// text is what the message has at a place. The second result is the rule that is broken, if one is.
func (e *event) text(p place) (string, string) {
	switch p.kind {
	case placePointer:
		value, ok := p.pointer.find(e.whole)
		if !ok {
			return "", ruleAbsent
		}
		return textOf(value)
	case placeHeader:
		return e.header(p.header)
	case placeKey:
		return present(e.Key)
	case placeSubject:
		return present(e.Subject)
	case placeDigest:
		return e.digest(), ""
	case placeNone:
	}
	return "", ruleAbsent
}

func present(text string) (string, string) {
	if text == "" {
		return "", ruleAbsent
	}
	return text, ""
}

// reads says that one of the places is in the ignored part of the body, or holds it.
func reads(places []place, ignored pointer) bool {
	return slices.ContainsFunc(places, func(p place) bool {
		return p.kind == placePointer && p.pointer.meets(ignored)
	})
}
