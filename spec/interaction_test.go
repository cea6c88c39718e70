package spec_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// A spec that declares no query and no update is stored as before there were any: runs and processes know it by its digest.
func TestInteractions_leave_other_specs_as_they_were(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{
		Name: "billing.invoice-approval", Version: "1", Description: "Waits.", Input: json.RawMessage(`{"type":"object"}`),
		Signals: []spec.Signal{{Name: "invoice.approved", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "a"}},
		Hooks:   []spec.Hook{{Name: "h", DisposableByToken: true}}, CooperativeCancel: true,
	}
	document, err := canon.Marshal(s.Normalized())
	if err != nil {
		t.Fatal(err)
	}
	const before = "547fc683575e25aacefc38b233ecdc2a03eaf15a0112fe97d80c284f7c2f2add"
	if got := document.Digest().String(); got != before {
		t.Errorf("digest %s of %s, want %s", got, document.Bytes(), before)
	}
}

func TestInteractions_are_validated(t *testing.T) {
	t.Parallel()
	bad, good := json.RawMessage(`{`), json.RawMessage(`{}`)
	for field, s := range map[string]spec.WorkflowSpec{
		"": {
			Queries: []spec.Query{{Name: "a", Args: good, Response: good}, {Name: "b"}}, Updates: []spec.Update{{Name: "a", Args: good}},
			Signals: []spec.Signal{{Name: "a"}}, Hooks: []spec.Hook{{Name: "a"}},
		},
		"queries/0/name":            {Queries: []spec.Query{{}}},
		"queries/1/name":            {Queries: []spec.Query{{Name: "a"}, {Name: "a"}}},
		"queries/0/arg_schema":      {Queries: []spec.Query{{Name: "a", Args: bad}}},
		"queries/0/response_schema": {Queries: []spec.Query{{Name: "a", Response: bad}}},
		"updates/0/name":            {Updates: []spec.Update{{Name: " a"}}},
		"updates/1/name":            {Updates: []spec.Update{{Name: "a"}, {Name: "a"}}},
		"updates/0/arg_schema":      {Updates: []spec.Update{{Name: "a", Args: bad}}},
		"updates/0/response_schema": {Updates: []spec.Update{{Name: "a", Response: bad}}},
	} {
		s.Name, s.Version = "w", "1"
		err := s.Validate()
		var invalid *spec.InvalidError
		if field == "" && err != nil || field != "" && (!errors.As(err, &invalid) || invalid.Field != field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestInteractions_are_normalized_found_and_stored(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{
		Queries: []spec.Query{{Name: "b", Description: "B"}, {Name: "a", Args: json.RawMessage(`{}`), Response: json.RawMessage(`{}`)}},
		Updates: []spec.Update{{Name: "d"}, {Name: "c", Args: json.RawMessage(`{}`), Response: json.RawMessage(`{}`)}},
	}
	text, err := json.Marshal(s.Normalized())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"","version":"","queries":[{"name":"a","arg_schema":{},"response_schema":{}},{"name":"b","description":"B"}],` +
		`"updates":[{"name":"c","arg_schema":{},"response_schema":{}},{"name":"d"}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if s.Queries[0].Name != "b" || s.Updates[0].Name != "d" {
		t.Error("the original was sorted")
	}
	if q, ok := s.Query("b"); !ok || q.Description != "B" {
		t.Errorf("found %+v", q)
	}
	if u, ok := s.Update("c"); !ok || u.Args == nil {
		t.Errorf("found %+v", u)
	}
	_, query := s.Query("c")
	if _, update := s.Update("a"); query || update {
		t.Error("a query was found as an update")
	}
}
