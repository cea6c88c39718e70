package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/schema"
)

func checkViolations(t *testing.T, err error, want []schema.Violation) {
	t.Helper()
	var se *schema.Error
	if !errors.As(err, &se) {
		t.Errorf("got %v, want violations %v", err, want)
		return
	}
	if diff := cmp.Diff(want, se.Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// Every payload here holds the word leak, in a value or in a name that the
// schema does not declare, and no message may.
func TestViolations(t *testing.T) {
	t.Parallel()
	type v = schema.Violation
	for _, c := range []struct {
		schema, payload string
		want            []v
	}{
		{`{"type":"number"}`, `"leak"`, []v{{"", "must be of type number"}}},
		{`{"type":["string","null"]}`, `["leak"]`, []v{{"", "must be of type null or string"}}},
		{`{"enum":["a",1,null]}`, `"leak"`, []v{{"", `must be one of "a", 1, null`}}},
		{`{"enum":["` + strings.Repeat("x", 100) + `","b"]}`, `"leak"`, []v{{"", "must be one of 2 allowed values"}}},
		{`{"const":{"a":1}}`, `"leak"`, []v{{"", `must be {"a":1}`}}},
		{`{"format":"date-time"}`, `"leak"`, []v{{"", `must have the format "date-time"`}}},
		{`{"format":"ipv4"}`, `"leak.1.1.1"`, []v{{"", `must have the format "ipv4"`}}},
		{`{"pattern":"^[0-9]+$"}`, `"leak"`, []v{{"", `must match the pattern "^[0-9]+$"`}}},
		{`{"minLength":5}`, `"leak"`, []v{{"", "must have at least 5 characters"}}},
		{`{"maxLength":3}`, `"leak"`, []v{{"", "must have at most 3 characters"}}},
		{`{"required":["a","reviewer"]}`, `{"leak":1}`, []v{{"", `"a" is required`}, {"", `"reviewer" is required`}}},
		{`{"dependentRequired":{"leak":["b"]}}`, `{"leak":1}`, []v{{"", `"b" is required beside "leak"`}}},
		{`{"additionalProperties":false}`, `{"leak":1,"leak2":2}`, []v{{"", "additional properties are not allowed"}}},
		{`{"properties":{"a":{"unevaluatedProperties":false}}}`, `{"a":{"leak":1,"leak2":1}}`, []v{{"/a", "additional properties are not allowed"}}},
		{`{"unevaluatedItems":false}`, `["leak"]`, []v{{"/0", "is not allowed"}}},
		{`{"properties":{"unevaluatedProperties":false}}`, `{"unevaluatedProperties":"leak"}`, []v{{"/unevaluatedProperties", "is not allowed"}}},
		{`{"items":{"propertyNames":{"maxLength":3}}}`, `[{"leak":1},{"leak":2},{"ok":1}]`, []v{{"/0", "a property name is not allowed"}, {"/1", "a property name is not allowed"}}},
		{`{"minProperties":2}`, `{"leak":1}`, []v{{"", "must have at least 2 properties"}}},
		{`{"maxProperties":0}`, `{"leak":1}`, []v{{"", "must have at most 0 properties"}}},
		{`{"minItems":2}`, `["leak"]`, []v{{"", "must have at least 2 items"}}},
		{`{"maxItems":0}`, `["leak"]`, []v{{"", "must have at most 0 items"}}},
		{`{"uniqueItems":true}`, `["leak",1,"leak"]`, []v{{"", "must not have equal items"}}},
		{`{"contains":{"type":"null"}}`, `["leak"]`, []v{{"", "must have at least 1 matching item (contains)"}}},
		{`{"contains":{"const":"leak"},"minContains":2}`, `["leak"]`, []v{{"", "must have at least 2 matching items (contains)"}}},
		{`{"contains":true,"maxContains":1}`, `["leak",1]`, []v{{"", "must have at most 1 matching items (contains)"}}},
		{`{"properties":{"n":{"minimum":1.25}}}`, `{"n":1.2,"leak":0}`, []v{{"/n", "must be at least 1.25"}}},
		{`{"items":{"maximum":10}}`, `["leak",11]`, []v{{"/1", "must be at most 10"}}},
		{`{"items":{"exclusiveMinimum":0}}`, `["leak",0]`, []v{{"/1", "must be greater than 0"}}},
		{`{"items":{"exclusiveMaximum":1e30}}`, `["leak",1e30]`, []v{{"/1", "must be less than 1000000000000000000000000000000"}}},
		{`{"items":{"multipleOf":0.01}}`, `["leak",0.015]`, []v{{"/1", "must be a multiple of 0.01"}}},
		{`{"not":{"const":"leak"}}`, `"leak"`, []v{{"", "must not match the excluded schema (not)"}}},
		{`false`, `"leak"`, []v{{"", "is not allowed"}}},
		{`{"anyOf":[{"type":"null"},{"minLength":9}]}`, `"leak"`, []v{
			{"", "must be of type null"}, {"", "must have at least 9 characters"}, {"", "must match at least one alternative (anyOf)"},
		}},
		{`{"oneOf":[true,true]}`, `"leak"`, []v{{"", "must match exactly one alternative (oneOf)"}}},
		{`{"if":{"type":"string"},"then":{"$ref":"#/$defs/n"},"$defs":{"n":{"allOf":[{"type":"null"}]}}}`, `"leak"`, []v{{"", "must be of type null"}}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"additionalItems":false}`, `[1,"leak"]`, []v{{"", "additional items are not allowed"}}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"leak":["b"]}}`, `{"leak":1}`, []v{{"", `"b" is required beside "leak"`}}},
	} {
		err := mustCompile(t, c.schema).Validate([]byte(c.payload))
		checkViolations(t, err, c.want)
		if err != nil && !strings.Contains(c.schema, "leak") && strings.Contains(err.Error(), "leak") {
			t.Errorf("%s: the error shows the payload: %v", c.schema, err)
		}
	}
}

func TestPointersAreEscapedSortedAndFew(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"additionalProperties":{"type":"object","additionalProperties":{"items":{"type":"string"}}}}`)
	checkViolations(t, s.Validate([]byte(`{"b":1,"a/~":{"":[0,"x",1]},"a":2}`)), []schema.Violation{
		{Pointer: "/a", Message: "must be of type object"},
		{Pointer: "/a~1~0//0", Message: "must be of type string"},
		{Pointer: "/a~1~0//2", Message: "must be of type string"},
		{Pointer: "/b", Message: "must be of type object"},
	})
	var se *schema.Error
	err := mustCompile(t, `{"items":{"type":"string"}}`).Validate([]byte("[" + strings.Repeat("0,", 5000) + "0]"))
	if !errors.As(err, &se) || len(se.Violations) != 32 || se.Violations[31].Pointer != "/1025" {
		t.Fatalf("of 5,001 violations: %v", err)
	}
	if !strings.HasSuffix(err.Error(), "; and 27 more") || len(err.Error()) > 1000 {
		t.Errorf("the error is %q", err)
	}
	long := strings.Repeat("é", 5000)
	err = s.Validate([]byte(`{"` + long + `":1}`))
	if !errors.As(err, &se) || len(se.Violations[0].Pointer) > 256 {
		t.Errorf("a long key: %v", err)
	}
}

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema, payload string
		ok              bool
	}{
		{`{"const":9007199254740993}`, `9007199254740993`, true},
		{`{"const":9007199254740993}`, `9007199254740992`, false},
		{`{"const":100}`, `1e2`, true},
		{`{"maximum":0.1}`, `0.1000000000000000000000001`, false},
		{`{"multipleOf":0.01}`, `1e-2`, true},
		{`{"multipleOf":0.1}`, `0.3`, true},
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"integer"}`, `1e308`, true},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"uniqueItems":true}`, `[1,1.0]`, false},
		{`{"uniqueItems":true}`, `[{"a":1,"b":2},{"b":2.0,"a":1e0}]`, false},
		{`{"uniqueItems":true}`, `[1,"1",true,[1],{"a":1},-1,9007199254740992,9007199254740993]`, true},
	} {
		if err := mustCompile(t, c.schema).Validate([]byte(c.payload)); (err == nil) != c.ok {
			t.Errorf("%s on %s: %v", c.schema, c.payload, err)
		}
	}
}

func TestPayloadsThatTheDoorWouldRefuse(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"multipleOf":3}`)
	for payload, want := range map[string]schema.Violation{
		``:                               {Message: "must be a JSON value"},
		`{} {}`:                          {Message: "must be a JSON value"},
		`1e999999999`:                    {Message: "must be a number in range"},
		`[{"a":1e-999999999}]`:           {Pointer: "/0/a", Message: "must be a number in range"},
		`[0E10000000000000000000]`:       {Pointer: "/0", Message: "must be a number in range"},
		strings.Repeat("1", 1025):        {Message: "must be a number in range"},
		`{"x":[` + `1E+99999999999999]}`: {Pointer: "/x/0", Message: "must be a number in range"},
	} {
		checkViolations(t, s.Validate([]byte(payload)), []schema.Violation{want})
	}
}

func TestNilSchemaAcceptsEverything(t *testing.T) {
	t.Parallel()
	var s *schema.Schema
	for _, payload := range []string{`null`, `{"a":1}`, ``} {
		if err := s.Validate([]byte(payload)); err != nil {
			t.Errorf("%q: %v", payload, err)
		}
	}
}

// A quadratic comparison of these items would take minutes.
func TestUniqueItemsIsLinear(t *testing.T) {
	t.Parallel()
	var items []string
	for i := range 8192 {
		signs := strings.NewReplacer("0", "-1,", "1", "1,").Replace(fmt.Sprintf("%013b", i))
		items = append(items, "["+strings.TrimSuffix(signs, ",")+"]")
	}
	if err := mustCompile(t, `{"uniqueItems":true}`).Validate([]byte("[" + strings.Join(items, ",") + "]")); err != nil {
		t.Error(err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object","required":["reviewer"],"propertyNames":{"pattern":"^[a-z]+$"},
		"properties":{"tags":{"uniqueItems":true,"items":{"$ref":"#/$defs/tag"}}},"$defs":{"tag":{"enum":["a","b"]}},
		"unevaluatedProperties":{"type":"string"}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				good := fmt.Sprintf(`{"reviewer":"r%d","tags":["a","b"]}`, i)
				if err := s.Validate([]byte(good)); err != nil {
					t.Errorf("%s: %v", good, err)
				}
				checkViolations(t, s.Validate(fmt.Appendf(nil, `{"tags":["a","c"],"n":%d}`, i)), []schema.Violation{
					{Pointer: "", Message: `"reviewer" is required`},
					{Pointer: "/n", Message: "must be of type string"},
					{Pointer: "/tags/1", Message: `must be one of "a", "b"`},
				})
			}
		})
	}
	wg.Wait()
}

func FuzzValidate(f *testing.F) {
	formats := strings.Split("json-pointer relative-json-pointer uuid duration period ipv4 ipv6 hostname email date time date-time uri uri-reference uri-template semver regex", " ")
	var all []string
	for _, format := range formats {
		all = append(all, `{"format":"`+format+`"}`)
	}
	s := mustCompile(f, `{"anyOf":[`+strings.Join(all, ",")+`],"propertyNames":{"minLength":2},"uniqueItems":true,
		"multipleOf":3,"additionalProperties":{"$ref":"#"},"contains":{"$ref":"#/$defs/n"},"$defs":{"n":{"not":{"const":1}}}}`)
	for _, seed := range []string{`"P1Y"`, `"2020-01-01T00:00:00Z"`, `"[::1]"`, `{"aa":{"b":1}}`, `[1,1.0,{}]`, `"~1/{a}"`, `1e5`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		err := s.Validate(payload)
		var se *schema.Error
		if err != nil && (!errors.As(err, &se) || len(se.Violations) == 0 || len(se.Violations) > 32) {
			t.Fatalf("error of another kind: %v", err)
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"$id":"a","$defs":{"x":{"$id":"b","$anchor":"c"}},"$ref":"b#c"}`, `{"$ref":"#/a","a":{"$id":"#"}}`,
		`{"items":[{"$ref":"#"}],"if":false,"then":{"pattern":"a{9}"}}`, `{"$schema":"http://json-schema.org/draft-04/schema#","id":"x"}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":[1]}`))
	}
	f.Fuzz(func(t *testing.T, text, payload []byte) {
		s, err := schema.Compile(text)
		var ce *schema.CompileError
		if err != nil && (s != nil || !errors.As(err, &ce) || ce.Rule == "") {
			t.Fatalf("error of another kind: %v", err)
		}
		_ = s.Validate(payload)
	})
}
