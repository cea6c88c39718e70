package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Rules are a mapping as it is configured. Run, Signal, Hook and ID are templates.
type Rules struct {
	Namespace spec.Namespace // of the runs; never taken from a message
	Run       string
	Signal    string // the name of a signal; this or Hook
	Hook      string // the ID of a hook
	ID        string // what identifies the event among those of its source
	// Payload is a JSON text: a template, whose value is the value at its place if it is one pointer, or an object whose
	// members are such. Absent or "" is the whole body.
	Payload json.RawMessage
	// When are conditions that must all hold: a template and the texts that it may make.
	When map[string][]string
	// Ignore are pointers to what is taken out of the body before anything is made of it: what may differ between two
	// deliveries of one event.
	Ignore []string
}

// Kind is what a message becomes.
type Kind string

// The kinds of messages.
const (
	Signal Kind = "signal"
	Hook   Kind = "hook"
)

// Target is what a message becomes and for which run.
type Target struct {
	Namespace spec.Namespace
	Run       spec.RunID
	Kind      Kind
	Name      string // of the signal, or the ID of the hook
	EventID   string // as the message says it; see Identity
	Payload   canon.Payload
}

// Mapping is checked Rules. It is immutable and safe for concurrent use.
type Mapping struct {
	namespace spec.Namespace
	kind      Kind
	run, name Template
	id        Template
	payload   *shape
	when      []condition
	ignore    []pointer
}

type condition struct {
	template Template
	texts    []string
}

// maxIgnored and maxConditions bound what one message costs.
const (
	maxIgnored    = 64
	maxConditions = 32
)

// Compile checks rules. The error is an *spec.InvalidError whose field is a JSON Pointer into the configuration without
// its first slash, such as "payload/amount".
func Compile(r Rules) (*Mapping, error) {
	m := &Mapping{namespace: r.Namespace, kind: Signal}
	if err := r.Namespace.Validate(); err != nil {
		return nil, err
	}
	name, field := r.Signal, "signal"
	switch {
	case r.Signal != "" && r.Hook != "":
		return nil, &spec.InvalidError{Field: "hook", Rule: "stands beside signal: keep one of them"}
	case r.Signal == "" && r.Hook == "":
		return nil, &spec.InvalidError{Field: "signal", Rule: "is not set, and neither is hook"}
	case r.Hook != "":
		m.kind, name, field = Hook, r.Hook, "hook"
	}
	for _, t := range []struct {
		field, text string
		to          *Template
	}{{"run", r.Run, &m.run}, {field, name, &m.name}, {"id", r.ID, &m.id}} {
		var err error
		if *t.to, err = ParseTemplate(t.field, t.text); err != nil {
			return nil, err
		}
	}
	if len(m.id.places()) == 0 {
		return nil, &spec.InvalidError{Field: "id", Rule: "must read something of the message, or all events are one"}
	}
	if err := m.conditions(r.When); err != nil {
		return nil, err
	}
	var err error
	if m.payload, err = parseShape("payload", r.Payload, 0); err != nil {
		return nil, err
	}
	return m, m.ignored(r.Ignore)
}

func (m *Mapping) conditions(when map[string][]string) error {
	if len(when) > maxConditions {
		return &spec.InvalidError{Field: "when", Rule: "must be at most 32 conditions"}
	}
	for _, text := range slices.Sorted(maps.Keys(when)) {
		field := "when/" + pointer{text}.String()[1:]
		t, err := ParseTemplate(field, text)
		if err != nil {
			return err
		}
		if len(t.places()) == 0 || len(when[text]) == 0 {
			return &spec.InvalidError{Field: field, Rule: "must name a place and the texts that may be there"}
		}
		m.when = append(m.when, condition{template: t, texts: slices.Clone(when[text])})
	}
	return nil
}

// ignored reads what is left out. What is left out can neither identify an event nor choose its target.
func (m *Mapping) ignored(texts []string) error {
	if len(texts) > maxIgnored {
		return &spec.InvalidError{Field: "ignore", Rule: "must be at most 64 places"}
	}
	read := slices.Concat(m.run.places(), m.name.places(), m.id.places())
	for _, c := range m.when {
		read = append(read, c.template.places()...)
	}
	for i, text := range texts {
		field := fmt.Sprintf("ignore/%d", i)
		p, rule := parsePointer(text)
		if rule == "" && reads(read, p) {
			rule = "is read by run, signal, hook, id or when"
		}
		if rule == "" && slices.ContainsFunc(m.payload.places(), func(at place) bool { return at.kind == placePointer && p.holds(at.pointer) }) {
			rule = "is what payload reads, or holds it"
		}
		if rule != "" {
			return &spec.InvalidError{Field: field, Rule: rule}
		}
		m.ignore = append(m.ignore, p)
	}
	return nil
}

// Namespace is that of all runs the mapping leads to.
func (m *Mapping) Namespace() spec.Namespace { return m.namespace }

// places are those that the mapping reads.
func (m *Mapping) places() []place {
	all := slices.Concat(m.run.places(), m.name.places(), m.id.places(), m.payload.places())
	for _, c := range m.when {
		all = append(all, c.template.places()...)
	}
	return all
}

// ReadsBroker says whether the mapping reads the key or the subject of a message, which only those of a broker have.
func (m *Mapping) ReadsBroker() bool {
	return slices.ContainsFunc(m.places(), func(p place) bool { return p.kind == placeKey || p.kind == placeSubject })
}

// Headers are the names of the headers that the mapping reads, in lower case and sorted.
func (m *Mapping) Headers() []string {
	found := map[string]bool{}
	for _, p := range m.places() {
		if p.kind == placeHeader {
			found[p.header] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Target maps a message. Errors: *canon.PayloadError and *canon.SizeError for a body that cannot be a payload within the
// limits; ErrUnwanted; *Error for a message that lacks what a rule asks for; *spec.InvalidError for a run, signal or hook
// that can be none.
func (m *Mapping) Target(msg *Message, limits canon.Limits) (Target, error) {
	e, err := read(msg, m.ignore, limits)
	if err != nil {
		return Target{}, err
	}
	for _, c := range m.when {
		text, bad := c.template.eval(e)
		if bad != nil || !slices.Contains(c.texts, text) {
			return Target{}, ErrUnwanted
		}
	}
	t := Target{Namespace: m.namespace, Kind: m.kind}
	var run string
	for _, part := range []struct {
		field string
		from  Template
		to    *string
	}{{"id", m.id, &t.EventID}, {"run", m.run, &run}, {string(m.kind), m.name, &t.Name}} {
		text, bad := part.from.eval(e)
		if bad != nil {
			bad.Field = part.field
			return Target{}, bad
		}
		*part.to = text
	}
	t.Run = spec.RunID(run)
	if err := t.Run.Validate(); err != nil {
		return Target{}, err
	}
	if err := spec.CheckName(string(m.kind), t.Name); err != nil {
		return Target{}, err
	}
	t.Payload, err = m.payload.make(e)
	return t, err
}

// hashedPrefix begins the part of an identity that is a digest.
const hashedPrefix = "sha256:"

// Identity is the engine's name of an event: "source:event", or "source:sha256:…" of an event ID that is too long or
// holds what no name may. Two event IDs of one source never have one identity, nor do those of two sources: a source's
// name has no colon.
func Identity(source, event string) string {
	id := source + ":" + event
	if len(event) < len(hashedPrefix) || event[:len(hashedPrefix)] != hashedPrefix {
		if spec.CheckName("id", id) == nil {
			return id
		}
	}
	sum := sha256.Sum256([]byte(event))
	return source + ":" + hashedPrefix + hex.EncodeToString(sum[:])
}
