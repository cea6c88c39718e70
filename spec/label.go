package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

const (
	// MaxLabels bounds the labels of one run and of one hook.
	MaxLabels = 32
	// MaxLabelValueBytes bounds the value of a label, in bytes of UTF-8.
	MaxLabelValueBytes = 255
)

var labelKey = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]{0,62}$`)

// Labels are searchable key-value pairs of a run or a hook. They carry no secrets: lists and filters show them.
type Labels map[string]string

// Validate returns an *InvalidError that names the first bad label in key order: keys match
// [a-z0-9][a-z0-9._/-]{0,62}, values are at most 255 bytes of UTF-8 without NUL and without a hook token, and there are
// at most 32.
func (l Labels) Validate() error {
	if len(l) > MaxLabels {
		return &InvalidError{Field: "labels", Rule: fmt.Sprintf("must be at most %d, are %d", MaxLabels, len(l))}
	}
	for _, key := range slices.Sorted(maps.Keys(l)) {
		if err := CheckLabel(key, l[key]); err != nil {
			return err
		}
	}
	return nil
}

// CheckLabel applies the rules of Labels.Validate to one pair.
func CheckLabel(key, value string) error {
	if !labelKey.MatchString(key) {
		return &InvalidError{Field: "labels", Rule: "keys must match " + labelKey.String()}
	}
	if len(value) > MaxLabelValueBytes {
		return &InvalidError{Field: "labels/" + key, Rule: fmt.Sprintf("must be at most %d bytes, has %d", MaxLabelValueBytes, len(value))}
	}
	if !utf8.ValidString(value) || slices.Contains([]byte(value), 0) {
		return &InvalidError{Field: "labels/" + key, Rule: "must be valid UTF-8 without NUL"}
	}
	return CheckNoToken("labels/"+key, value)
}
