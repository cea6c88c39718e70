package spec

import (
	"fmt"
	"strings"
)

// MaxApprovers bounds the people of one rule, and the recipients of the pages of one hook.
const MaxApprovers = 100

// ApprovalRule says how many of how many people must approve.
type ApprovalRule struct {
	Needed int `json:"needed"`
	Of     int `json:"of"`
}

// String is the rule in words, such as "1 of 3".
func (r ApprovalRule) String() string { return fmt.Sprintf("%d of %d", r.Needed, r.Of) }

// WithRequester names the person who asks. From then on the hook takes no answer from that person, nor from who is no known
// person: a token alone, an API key, or a source of webhooks.
func (m HookMetadata) WithRequester(person string) HookMetadata {
	m.Requester = person
	return m
}

// WithRule says how many of how many people must approve. One hook takes one answer: with 1 of n the hook may have a page
// for each of n people and the first answer counts; with more than one needed, make one hook for each person and count
// distinct people in the workflow.
func (m HookMetadata) WithRule(needed, of int) HookMetadata {
	m.Rule = &ApprovalRule{Needed: needed, Of: of}
	return m
}

// Recipients is how many people may have a page of the hook: one, or as many as a rule with one needed names.
func (m HookMetadata) Recipients() int {
	if m.Rule != nil && m.Rule.Needed == 1 {
		return m.Rule.Of
	}
	return 1
}

func (m HookMetadata) checkPeople() error {
	if m.Requester != "" {
		if err := CheckPerson("requester", m.Requester); err != nil {
			return err
		}
	}
	if r := m.Rule; r != nil && (r.Needed < 1 || r.Of < r.Needed || r.Of > MaxApprovers) {
		return &InvalidError{Field: "rule", Rule: fmt.Sprintf("must need 1 to all of at most %d people", MaxApprovers)}
	}
	return nil
}

// The beginnings of the names of actors who are no persons: an API key, and a source of webhooks.
const (
	KeyActor    = "key:"
	SourceActor = "source:"
)

// IsPerson says whether the name of an actor is that of a person. An API key and a source of webhooks speak for anybody who
// sent through them.
func IsPerson(actor string) bool {
	return actor != "" && !strings.HasPrefix(actor, KeyActor) && !strings.HasPrefix(actor, SourceActor)
}

// CheckPerson applies the rules for a name of a person: those of CheckName, and not one of a key or a source. The error is an
// *InvalidError for the field.
func CheckPerson(field, name string) error {
	if err := CheckName(field, name); err != nil {
		return err
	}
	if !IsPerson(name) {
		return &InvalidError{Field: field, Rule: "must not begin with " + KeyActor + " or " + SourceActor}
	}
	return nil
}

// SamePerson says whether two names are taken for one person, whatever the case of their letters. A caller with a JWT is
// named issuer#subject, and either part may have a # of its own: a name is also that of whoever has it after any # of the
// other one. It errs on the side of one person, and knows neither aliases nor other encodings of the same letter: give each
// person one name everywhere.
func SamePerson(a, b string) bool {
	return strings.EqualFold(a, b) || endsWithPerson(a, b) || endsWithPerson(b, a)
}

// endsWithPerson says whether subject stands after a # of name.
func endsWithPerson(name, subject string) bool {
	for {
		_, rest, found := strings.Cut(name, "#")
		if !found {
			return false
		}
		if strings.EqualFold(rest, subject) {
			return true
		}
		name = rest
	}
}
