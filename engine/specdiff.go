package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// specDiff lists the places in which two specs of one name and version differ.
func specDiff(stored, registered spec.WorkflowSpec) []string {
	var d differences
	d.note("description", stored.Description == registered.Description)
	d.note("input_schema", sameJSON(stored.Input, registered.Input))
	d.note("cooperative_cancel", stored.CooperativeCancel == registered.CooperativeCancel)
	signals := func(s spec.WorkflowSpec) map[string]spec.Signal {
		return byName(s.Signals, func(sig spec.Signal) string { return sig.Name })
	}
	compareEntries(&d, "signals", signals(stored), signals(registered), func(at string, a, b spec.Signal) {
		d.note(at+"/description", a.Description == b.Description)
		d.note(at+"/schema", sameJSON(a.Schema, b.Schema))
	})
	hooks := func(s spec.WorkflowSpec) map[string]spec.Hook {
		return byName(s.Hooks, func(h spec.Hook) string { return h.Name })
	}
	compareEntries(&d, "hooks", hooks(stored), hooks(registered), func(at string, a, b spec.Hook) {
		d.note(at+"/description", a.Description == b.Description)
		d.note(at+"/schema", sameJSON(a.Schema, b.Schema))
		d.note(at+"/audience", a.Audience == b.Audience)
		d.note(at+"/disposable_by_token", a.DisposableByToken == b.DisposableByToken)
		d.note(at+"/requires", a.Requires == b.Requires)
		d.note(at+"/source", a.Source == b.Source)
		d.note(at+"/confirm", a.Confirm == b.Confirm)
		d.note(at+"/hides_decider", a.HidesDecider == b.HidesDecider)
	})
	diffInteractions(&d, stored, registered)
	if len(d) == 0 {
		// Written by a version of this program whose specs hold more.
		return []string{"a part this program does not know"}
	}
	slices.Sort(d)
	return d
}

// diffInteractions compares the queries and the updates, whose declarations have the same members.
func diffInteractions(d *differences, stored, registered spec.WorkflowSpec) {
	queries := func(s spec.WorkflowSpec) map[string]spec.Query {
		return byName(s.Queries, func(q spec.Query) string { return q.Name })
	}
	compareEntries(d, "queries", queries(stored), queries(registered), func(at string, a, b spec.Query) {
		d.note(at+"/description", a.Description == b.Description)
		d.note(at+"/arg_schema", sameJSON(a.Args, b.Args))
		d.note(at+"/response_schema", sameJSON(a.Response, b.Response))
	})
	updates := func(s spec.WorkflowSpec) map[string]spec.Update {
		return byName(s.Updates, func(u spec.Update) string { return u.Name })
	}
	compareEntries(d, "updates", updates(stored), updates(registered), func(at string, a, b spec.Update) {
		d.note(at+"/description", a.Description == b.Description)
		d.note(at+"/arg_schema", sameJSON(a.Args, b.Args))
		d.note(at+"/response_schema", sameJSON(a.Response, b.Response))
	})
}

type differences []string

func (d *differences) note(at string, same bool) {
	if !same {
		*d = append(*d, at)
	}
}

func byName[T any](entries []T, name func(T) string) map[string]T {
	m := make(map[string]T, len(entries))
	for _, e := range entries {
		m[name(e)] = e
	}
	return m
}

func compareEntries[T any](d *differences, list string, a, b map[string]T, compare func(at string, a, b T)) {
	for name, one := range a {
		at := fmt.Sprintf("%s/%s", list, name)
		other, ok := b[name]
		if !ok {
			d.note(at, false)
			continue
		}
		compare(at, one, other)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			d.note(fmt.Sprintf("%s/%s", list, name), false)
		}
	}
}

// sameJSON compares JSON values; absent equals absent only.
func sameJSON(a, b json.RawMessage) bool {
	one, errA := canon.Marshal(a)
	other, errB := canon.Marshal(b)
	return (len(a) == 0) == (len(b) == 0) && errA == nil && errB == nil && canon.Equal(one, other)
}
