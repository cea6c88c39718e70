package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// maxSchemaBytes bounds the text of a schema.
const maxSchemaBytes = 64 << 10

// rootURL is the base of a schema's own references. It has an authority and a
// path, so that a relative reference resolves to another URL, which is refused.
// Neither part is shown to anybody.
const (
	baseURL = "flowgate://schema"
	rootURL = baseURL + "/root"
)

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent
// use. A nil *Schema accepts everything.
type Schema struct {
	root *jsonschema.Schema
	// closed are the locations of unevaluatedProperties: false, whose violations
	// are told at the object and not at the property.
	closed map[string]bool
}

// CompileError says why a schema is refused. It speaks of the schema only, so
// it may be logged.
type CompileError struct {
	Pointer string // JSON Pointer (RFC 6901) into the schema, "" for the root or where unknown
	Rule    string // what is wrong, in words
}

// Error names the place and the rule.
func (e *CompileError) Error() string {
	if e.Pointer == "" {
		return "schema refused: " + e.Rule
	}
	return fmt.Sprintf("schema refused: at %q: %s", e.Pointer, e.Rule)
}

// Compile reads a schema of at most 64 KiB and depth 64. It refuses, with a
// *CompileError, what is not a schema of its draft, every reference that leaves
// the schema, one that leads back to itself without going into the value, and a
// schema whose cost per value is too high.
func Compile(raw []byte) (_ *Schema, err error) {
	doc, err := readSchema(raw)
	if err != nil {
		return nil, err
	}
	defer func() {
		// The library panics on a few contradictions between $id keywords. A spec
		// that holds one must not take the process down.
		if r := recover(); r != nil {
			err = &CompileError{Rule: "its identifiers contradict each other"}
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(rootURL, doc); err != nil {
		return nil, compileError(err)
	}
	root, err := c.Compile(rootURL)
	if err != nil {
		return nil, compileError(err)
	}
	s := &Schema{root: root, closed: map[string]bool{}}
	nodes, err := collect(root)
	if err != nil {
		return nil, err
	}
	if err := checkCost(nodes); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		s.adapt(n)
	}
	return s, nil
}

// readSchema decodes the text under the rules of every payload: no duplicate
// keys, bounded depth and numbers.
func readSchema(raw []byte) (any, error) {
	_, err := canon.Parse(raw, canon.Limits{MaxBytes: maxSchemaBytes})
	var form *canon.PayloadError
	switch {
	case errors.As(err, &form):
		return nil, &CompileError{Pointer: form.Pointer, Rule: form.Rule}
	case err != nil:
		return nil, &CompileError{Rule: err.Error()}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &CompileError{Rule: err.Error()}
	}
	return doc, nil
}

// noLoader refuses every reference that the schema does not answer itself. The
// library's own loader would read file URLs.
type noLoader struct{}

var errOutside = errors.New("a schema may only refer to itself")

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errOutside }

// compileError puts the library's error in our words.
func compileError(err error) error {
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.SchemaValidationError
	var violation *jsonschema.ValidationError
	switch {
	case errors.As(err, &load):
		return &CompileError{Rule: fmt.Sprintf("it refers to %.100q; %v", strings.TrimPrefix(load.URL, baseURL), errOutside)}
	case errors.As(err, &invalid) && errors.As(invalid.Err, &violation):
		return invalidSchema(violation)
	default:
		words := strings.ReplaceAll(err.Error(), rootURL, "")
		return &CompileError{Rule: strings.ReplaceAll(words, baseURL, "")}
	}
}
