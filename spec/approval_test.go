package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

func TestSamePerson(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"ada", "ada", true},
		{"ada", "ADA", true},
		{"corp#ada", "ada", true},
		{"Ada", "corp#ada", true},
		{"corp#ada", "corp#Ada", true},
		{"corp#ada", "other#ada", false},
		{"corp#team#ada", "team#ada", true}, // a subject with a # of its own
		{"TEAM#ada", "corp#team#Ada", true},
		{"corp#1#ada", "ada", true}, // an issuer with one
		{"corp#team#ada", "team#bob", false},
		{"corp#team#ada", "corp#ada", false},
		{"ada", "bob", false},
		{"corp#ada", "corp", false},
		{"corp#", "", true},
		{"STRASSE", "straße", false},
	} {
		if got := spec.SamePerson(tc.a, tc.b); got != tc.same {
			t.Errorf("%q and %q: %v", tc.a, tc.b, got)
		}
	}
}

// A rule that nobody can meet, and a requester without a usable name, are refused with the field that is wrong.
func TestHookMetadata_people(t *testing.T) {
	t.Parallel()
	ask := spec.HumanApproval("x")
	for _, tc := range []struct {
		m     spec.HookMetadata
		field string
	}{
		{ask.WithRule(1, 3).WithRequester("ada"), ""},
		{ask.WithRule(3, 3), ""},
		{ask.WithRule(1, spec.MaxApprovers), ""},
		{ask.WithRule(0, 3), "rule"},
		{ask.WithRule(-1, 3), "rule"},
		{ask.WithRule(4, 3), "rule"},
		{ask.WithRule(1, spec.MaxApprovers+1), "rule"},
		{ask.WithRequester(" ada"), "requester"},
		{ask.WithRequester(strings.Repeat("a", 256)), "requester"},
		{ask.WithRequester("a\u202eb"), "requester"},
		{ask.WithRequester("a\x00"), "requester"},
	} {
		if got := invalidField(tc.m.Validate()); got != tc.field {
			t.Errorf("%+v: field %q, want %q", tc.m, got, tc.field)
		}
	}
	if n := ask.Recipients(); n != 1 {
		t.Errorf("without a rule: %d recipients", n)
	}
	if n := ask.WithRule(1, 3).Recipients(); n != 3 {
		t.Errorf("1 of 3: %d recipients", n)
	}
	if n := ask.WithRule(2, 3).Recipients(); n != 1 {
		t.Errorf("2 of 3: %d recipients", n)
	}
}

// invalidField is the field that an error names; empty without one.
func invalidField(err error) string {
	if invalid, ok := errors.AsType[*spec.InvalidError](err); ok {
		return invalid.Field
	}
	return ""
}
