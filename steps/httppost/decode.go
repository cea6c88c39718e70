package httppost

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// decodeInput reads an input strictly: one JSON object with known members, spelt exactly, none twice, none null. Body
// becomes a json.RawMessage. Errors: *spec.InvalidError, those of a payload's form.
func decodeInput(raw []byte) (*Input, error) {
	if _, err := canon.Parse(raw, canon.Limits{}); err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, invalid("input", "must be an object")
	}
	var in Input
	var body json.RawMessage
	fields := map[string]struct {
		into any
		rule string
	}{
		"url":             {&in.URL, "must be a string"},
		"to":              {&in.To, "must be a string"},
		"body":            {&body, "must be a JSON value"},
		"links":           {&in.Links, "must be a list of strings"},
		"headers":         {&in.Headers, "must be an object of strings"},
		"auth":            {&in.Auth, "must be a string"},
		"sign_with":       {&in.SignWith, "must be a string"},
		"timeout":         {&in.Timeout, durationRule},
		"statuses":        {&in.Statuses, "must be a list of whole numbers"},
		"capture_headers": {&in.CaptureHeaders, "must be a list of strings"},
		"capture_bytes":   {&in.CaptureBytes, "must be a whole number"},
		"message_id":      {&in.MessageID, "must be a string"},
	}
	for _, name := range sortedKeys(members) {
		field, known := fields[name]
		if !known {
			return nil, unknownMember(name)
		}
		if bytes.Equal(members[name], []byte("null")) {
			return nil, invalid(name, field.rule+", not null")
		}
		if json.Unmarshal(members[name], field.into) != nil {
			return nil, invalid(name, field.rule)
		}
	}
	if body == nil {
		return nil, invalid("body", "is missing")
	}
	in.Body = body
	return &in, nil
}

// unknownMember names a member only if it is a word: it might be anything, and errors are stored.
func unknownMember(name string) error {
	if len(name) <= 32 && isWord(name) {
		return invalid(name, "is not a member of the input")
	}
	return invalid("input", "has an unknown member")
}

func isWord(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return name != ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
