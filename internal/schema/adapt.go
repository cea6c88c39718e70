package schema

import (
	"encoding/json"
	"math"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// adapt takes over the keywords that the library implements in a way we cannot
// use.
func (s *Schema) adapt(n *node) {
	sch := n.schema
	if sch.PropertyNames != nil {
		sch.Extensions = append(sch.Extensions, propertyNames{sch.PropertyNames})
		sch.PropertyNames = nil
	}
	if sch.UniqueItems {
		sch.Extensions = append(sch.Extensions, uniqueItems{})
		sch.UniqueItems = false
	}
	if u := sch.UnevaluatedProperties; u != nil && u.Bool != nil && !*u.Bool {
		s.closed[u.Location] = true
	}
}

// propertyNames is the keyword of that name. The library reports its violations
// with a location that it overwrites later.
type propertyNames struct{ schema *jsonschema.Schema }

// Validate implements jsonschema.SchemaExt.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name := range object {
		if p.schema.Validate(name) != nil {
			ctx.AddError(&kind.PropertyNames{})
			return
		}
	}
}

// uniqueItems is the keyword of that name. The library compares items pairwise
// wherever their hashes are equal, and its hash ignores the sign of numbers, so
// that some thousand small arrays of 1 and -1 keep it busy for minutes.
type uniqueItems struct{}

// Validate implements jsonschema.SchemaExt.
func (uniqueItems) Validate(ctx *jsonschema.ValidatorContext, v any) {
	items, ok := v.([]any)
	if !ok {
		return
	}
	seen := make(map[canon.Digest]bool, len(items))
	for _, item := range items {
		d, ok := digest(item)
		if !ok {
			continue
		}
		if seen[d] {
			ctx.AddError(&kind.UniqueItems{})
			return
		}
		seen[d] = true
	}
}

// digest identifies a JSON value. It fails only for values that no payload
// holds, such as strings with NUL.
func digest(v any) (canon.Digest, bool) {
	raw, err := json.Marshal(v)
	if err != nil {
		return canon.Digest{}, false
	}
	p, err := canon.Parse(raw, canon.Limits{MaxBytes: math.MaxInt, MaxDepth: math.MaxInt})
	return p.Digest(), err == nil
}
