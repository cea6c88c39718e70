package schema

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// node is one subschema with the subschemas it hands values to.
type node struct {
	schema *jsonschema.Schema
	same   []*jsonschema.Schema // applied to the same value
	every  []*jsonschema.Schema // each may be applied to any child of the value
	one    []*jsonschema.Schema // at most one of them is applied to a child
}

// collect returns every subschema that can be reached from root, each once.
func collect(root *jsonschema.Schema) ([]*node, error) {
	var nodes []*node
	seen := map[*jsonschema.Schema]bool{root: true}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if err := checkReferences(s); err != nil {
			return nil, err
		}
		n := &node{schema: s, same: same(s), every: every(s), one: one(s)}
		nodes = append(nodes, n)
		for _, children := range [][]*jsonschema.Schema{n.same, n.every, n.one} {
			for _, child := range children {
				if !seen[child] {
					seen[child] = true
					queue = append(queue, child)
				}
			}
		}
	}
	return nodes, nil
}

// checkReferences refuses what the loader does not see: the meta-schemas that
// the library carries, and references whose target depends on the value.
func checkReferences(s *jsonschema.Schema) error {
	if !strings.HasPrefix(s.Location, rootURL+"#") {
		return compileError(&jsonschema.LoadURLError{URL: s.Location, Err: errOutside})
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		return &CompileError{Pointer: place(s), Rule: "$dynamicRef and $recursiveRef are not supported; use $ref"}
	}
	return nil
}

// same lists what s applies to the value it is applied to itself.
func same(s *jsonschema.Schema) []*jsonschema.Schema {
	list := present(s.Ref, s.Not, s.If, s.Then, s.Else)
	list = append(list, s.AllOf...)
	list = append(list, s.AnyOf...)
	list = append(list, s.OneOf...)
	for _, child := range s.DependentSchemas {
		list = append(list, child)
	}
	for _, child := range s.Dependencies {
		list = append(list, subschema(child)...)
	}
	return list
}

// every lists what s may apply to any child, whatever else applies to it.
func every(s *jsonschema.Schema) []*jsonschema.Schema {
	list := present(s.Contains, s.PropertyNames)
	for _, child := range s.PatternProperties {
		list = append(list, child)
	}
	return list
}

// one lists the subschemas of which s applies one at most to a child: by its
// name, by its position, or because nothing else was.
func one(s *jsonschema.Schema) []*jsonschema.Schema {
	list := present(s.UnevaluatedProperties, s.UnevaluatedItems, s.Items2020)
	list = append(list, s.PrefixItems...)
	list = append(list, subschema(s.AdditionalProperties)...)
	list = append(list, subschema(s.AdditionalItems)...)
	list = append(list, subschema(s.Items)...)
	for _, child := range s.Properties {
		list = append(list, child)
	}
	return list
}

// subschema reads a field that older drafts gave several types.
func subschema(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return present(v)
	case []*jsonschema.Schema:
		return v
	default:
		return nil
	}
}

func present(schemas ...*jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, s := range schemas {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// place returns the JSON Pointer of a subschema in the schema's text.
func place(s *jsonschema.Schema) string {
	return pointerOf(s.Location)
}
