package schema_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/schema"
)

func mustCompile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(text))
	if err != nil {
		t.Fatalf("Compile(%.200s): %v", text, err)
	}
	return s
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	const outside = "a schema may only refer to itself"
	for _, c := range []struct{ text, pointer, rule string }{
		{``, "", "the payload is empty"},
		{`{"type":"object"`, "/type", "not valid JSON"},
		{`{"type":"object","type":"array"}`, "/type", "same key twice"},
		{`{"a":"` + strings.Repeat("x", 64<<10) + `"}`, "", "at most 65536 are allowed"},
		{strings.Repeat(`{"not":`, 65) + "{}" + strings.Repeat("}", 65), strings.Repeat("/not", 64), "nested deeper than 64"},
		{`[]`, "", "must be of type boolean or object"},
		{`null`, "", "must be of type boolean or object"},
		{`{"type":"strin"}`, "/type", `must be one of "array", "boolean"`},
		{`{"properties":{"a/b":{"minLength":-1}}}`, "/properties/a~1b/minLength", "must be at least 0"},
		{`{"required":["a","a"]}`, "/required", "must not have equal items"},
		{`{"$ref":"file:///etc/passwd"}`, "", `"file:///etc/passwd"; ` + outside},
		{`{"$ref":"/etc/passwd"}`, "", outside},
		{`{"$ref":"other.json"}`, "", outside},
		{`{"$ref":"other.json#/$defs/a"}`, "", outside},
		{`{"$ref":"http://127.0.0.1:1/s.json"}`, "", `"http://127.0.0.1:1/s.json"; ` + outside},
		{`{"$ref":"https://example.com/s.json"}`, "", outside},
		{`{"$ref":"urn:example:s"}`, "", outside},
		{`{"$id":"http://example.com/a","$ref":"b"}`, "", outside},
		{`{"properties":{"x":{"items":{"$ref":"ftp://h/s"}}}}`, "", outside},
		{`{"$schema":"http://example.com/meta"}`, "", outside},
		{`{"$ref":"http://json-schema.org/draft-07/schema#"}`, "", outside},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "", outside},
		{`{"$ref":"#/$defs/missing"}`, "", "not found"},
		{`{"$ref":"#missing"}`, "", "not found"},
		{`{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`, "/items", "use $ref"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`, "/items", "use $ref"},
		{`{"properties":{"p":{"pattern":"(?=look)"}}}`, "/properties/p/pattern", "RE2"},
		{`{"pattern":"` + strings.Repeat("a", 1025) + `"}`, "/pattern", "a pattern may have 1024 bytes"},
		{`{"pattern":"(abcdefgh){600}"}`, "/pattern", "a pattern may expand to 4096 steps"},
		{`{"patternProperties":{"(":{}}}`, "", "RE2"},
		{`{"$id":"x","$defs":{"a":{"$id":"x"}}}`, "", "duplicate id"},
	} {
		s, err := schema.Compile([]byte(c.text))
		var ce *schema.CompileError
		if !errors.As(err, &ce) || s != nil {
			t.Errorf("Compile(%.100s): %v, want a *CompileError with %q", c.text, err, c.rule)
			continue
		}
		if ce.Pointer != c.pointer || !strings.Contains(ce.Rule, c.rule) {
			t.Errorf("Compile(%.100s): %q at %q, want %q at %q", c.text, ce.Rule, ce.Pointer, c.rule, c.pointer)
		}
		if strings.Contains(err.Error(), "flowgate://") {
			t.Errorf("Compile(%.100s) shows our base URL: %v", c.text, err)
		}
	}
}

// The file is no schema, so the words of the error tell whether it was read.
func TestCompileReadsNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, []byte(`{"type":"strin"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file://" + path, "file://localhost" + path, path} {
		_, err := schema.Compile([]byte(`{"properties":{"a":{"$ref":"` + ref + `"}}}`))
		var ce *schema.CompileError
		if !errors.As(err, &ce) || !strings.Contains(ce.Rule, "a schema may only refer to itself") {
			t.Errorf("$ref to %s: %v", ref, err)
		}
	}
}

// Without a bound on cost, each of these hangs on a payload of some hundred
// bytes.
func TestCompileRefusesRunawayCost(t *testing.T) {
	t.Parallel()
	doubling := func(keyword string, n int) string {
		var defs []string
		for i := range n {
			ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
			defs = append(defs, fmt.Sprintf(`"d%d":{"%s":[%s,%s]}`, i, keyword, ref, ref))
		}
		return fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s,"d%d":{"type":"null"}}}`, strings.Join(defs, ","), n)
	}
	self := `{"$ref":"#"}`
	for _, text := range []string{
		doubling("allOf", 30),
		doubling("anyOf", 30),
		doubling("oneOf", 30),
		`{"allOf":[{"items":` + self + `},{"items":` + self + `}]}`,
		`{"items":` + self + `,"contains":` + self + `}`,
		`{"not":{"items":` + self + `},"if":{"items":` + self + `}}`,
		`{"patternProperties":{"^a":` + self + `,"a$":` + self + `}}`,
		`{"properties":{"a":` + self + `},"dependentSchemas":{"a":{"properties":{"a":` + self + `}}}}`,
		`{"anyOf":[{"additionalProperties":` + self + `},{"unevaluatedProperties":` + self + `}]}`,
	} {
		_, err := schema.Compile([]byte(text))
		var ce *schema.CompileError
		if !errors.As(err, &ce) || !strings.Contains(ce.Rule, "more than 10000 times") {
			t.Errorf("Compile(%.100s): %v", text, err)
		}
	}
}

func TestCompileRefusesCyclesThatGoNowhere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"$ref":"#"}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`,
		`{"anyOf":[{"type":"string"},{"not":{"$ref":"#"}}]}`,
		`{"if":{"$ref":"#"}}`,
		`{"dependentSchemas":{"a":{"$ref":"#"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`,
	} {
		_, err := schema.Compile([]byte(text))
		var ce *schema.CompileError
		if !errors.As(err, &ce) || !strings.Contains(ce.Rule, "leads back to itself") {
			t.Errorf("Compile(%s): %v", text, err)
		}
	}
}

func TestCompileTakesUsefulRecursion(t *testing.T) {
	t.Parallel()
	tree := mustCompile(t, `{"$id":"https://example.com/tree","$ref":"#/$defs/node","$defs":{"node":{
		"type":"object","required":["name"],"additionalProperties":{"$ref":"tree#/$defs/node"},
		"properties":{"name":{"type":"string"},"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"},
			"children":{"type":"array","items":{"$ref":"#/$defs/node"}},"alias":{"$anchor":"here"},"other":{"$ref":"#here"}}}}}`)
	deep, open := `{"name":"leaf"}`, `{"name":"n","left":`
	if err := tree.Validate([]byte(strings.Repeat(open, 60) + deep + strings.Repeat("}", 60))); err != nil {
		t.Errorf("a deep tree: %v", err)
	}
	err := tree.Validate([]byte(strings.Repeat(open, 20) + `{"name":7}` + strings.Repeat("}", 20)))
	want := []schema.Violation{{Pointer: strings.Repeat("/left", 20) + "/name", Message: "must be of type string"}}
	checkViolations(t, err, want)
}

func TestCompileTakesLargeSchemas(t *testing.T) {
	t.Parallel()
	var properties, alternatives []string
	for i := range 1500 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	for i := range 150 {
		alternatives = append(alternatives, fmt.Sprintf(`{"properties":{"kind":{"const":"k%d"},"x":{"minimum":%d}}}`, i, i))
	}
	mustCompile(t, `{"properties":{`+strings.Join(properties, ",")+`}}`)
	mustCompile(t, `{"oneOf":[`+strings.Join(alternatives, ",")+`]}`)
	mustCompile(t, `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`)
	mustCompile(t, `true`)
}
