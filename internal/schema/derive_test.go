package schema_test

import (
	"encoding/json"
	"errors"
	htmltemplate "html/template"
	"net"
	"net/url"
	"reflect"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/schema"
)

type (
	label  string
	person struct {
		Name  string `json:"name" jsonschema:"minLength=1" jsonschema_description:"As on the badge."`
		Email string `json:"email,omitempty" jsonschema:"format=email"`
		notes string
	}
	place struct {
		City string `json:"city"`
		Zip  int    `json:"zip,string"`
	}
	base struct{ ID string }
	trip struct {
		base
		*place
		Traveller person                 `json:"traveller"`
		Others    []person               `json:"others"`
		Guide     *person                `json:"guide"`
		Backup    *person                `json:"backup,omitempty"`
		Begins    time.Time              `json:"begins"`
		Ends      time.Time              `json:"ends,omitzero"`
		Raw       json.RawMessage        `json:"raw"`
		Any       any                    `json:"any"`
		Price     json.Number            `json:"price"`
		Address   net.IP                 `json:"address"`
		Link      url.URL                `json:"link"`
		Labels    map[label]label        `json:"labels"`
		Seats     map[int]*person        `json:"seats"`
		Key       []byte                 `json:"key"`
		Pair      [2]int                 `json:"pair"`
		Mood      *string                `json:"mood" jsonschema:"enum=good,enum=bad"`
		Stay      struct{ Nights uint8 } `json:"stay"`
		Skipped   chan int               `json:"-"`
	}
	node struct {
		Value    int     `json:"value"`
		Children []*node `json:"children,omitempty"`
	}
	pairOf[T any] struct{ A, B T }
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		of   reflect.Type
		want string
	}{
		"a text":      {reflect.TypeFor[string](), `{"type":"string"}`},
		"a time":      {reflect.TypeFor[time.Time](), `{"type":"string","format":"date-time"}`},
		"any JSON":    {reflect.TypeFor[json.RawMessage](), `{}`},
		"an any":      {reflect.TypeFor[any](), `{}`},
		"a list":      {reflect.TypeFor[[]string](), `{"type":["array","null"],"items":{"type":"string"}}`},
		"a pointer":   {reflect.TypeFor[*int](), `{"type":["integer","null"]}`},
		"no members":  {reflect.TypeFor[struct{}](), `{"type":"object","properties":{}}`},
		"a map":       {reflect.TypeFor[map[string]bool](), `{"type":["object","null"],"additionalProperties":{"type":"boolean"}}`},
		"a small map": {reflect.TypeFor[map[int8]string](), `{"type":["object","null"],"additionalProperties":{"type":"string"}}`},
		"a struct": {reflect.TypeFor[person](), `{"type":"object","properties":{
			"name":{"type":"string","minLength":1,"description":"As on the badge."},"email":{"type":"string","format":"email"}},
			"required":["name"]}`},
		"a pointer to one": {reflect.TypeFor[*base](), `{"type":["object","null"],"properties":{"ID":{"type":"string"}},"required":["ID"]}`},
		"one that holds itself": {reflect.TypeFor[node](), `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
			"value":{"type":"integer"},"children":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}}},
			"required":["value"]}}}`},
		"a generic one": {reflect.TypeFor[pairOf[place]](), `{"type":"object","properties":{"A":{"$ref":"#/$defs/place"},"B":{"$ref":"#/$defs/place"}},
			"required":["A","B"],"$defs":{"place":{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"string"}},"required":["city","zip"]}}}`},
	} {
		for range 3 { // maps have another order each time
			got, err := schema.Of(tc.of)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(value(t, tc.want), value(t, string(got))); diff != "" {
				t.Errorf("%s: %s\n%s", name, got, diff)
			}
		}
	}
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// What encoding/json writes of a value fits the schema of its type, be it full or empty.
func TestOf_fits_what_is_written(t *testing.T) {
	t.Parallel()
	good := "good"
	one := &person{Name: "Ada", Email: "ada@example.com", notes: "x"}
	full := trip{
		base: base{"1"}, place: &place{"Lisbon", 7}, Traveller: *one, Others: []person{*one}, Guide: one, Backup: one,
		Begins: time.Unix(1, 1), Ends: time.Unix(2, 0), Raw: json.RawMessage(`[1,{}]`), Any: 7, Price: "1.50",
		Address: net.ParseIP("::1"), Labels: map[label]label{"a": "b"}, Seats: map[int]*person{-1: one, 2: nil}, Key: []byte("x"), Mood: &good,
	}
	empty := trip{Traveller: person{Name: "Eve"}}
	for name, v := range map[string]any{
		"full": full, "empty": empty, "pointer": &full, "nil": (*trip)(nil), "list": []*trip{&full, nil}, "tree": node{1, []*node{{2, nil}, nil}},
	} {
		compiled := compileOf(t, reflect.TypeOf(v))
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(text); err != nil {
			t.Errorf("%s: %v in %s", name, err, text)
		}
	}
}

func compileOf(t *testing.T, of reflect.Type) *schema.Schema {
	t.Helper()
	text, err := schema.Of(of)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestOf_refuses_what_does_not_fit(t *testing.T) {
	t.Parallel()
	compiled := compileOf(t, reflect.TypeFor[person]())
	for payload, at := range map[string]string{
		`{"name":7}`: "/name", `{"name":""}`: "/name", `{}`: "", `[]`: "", `null`: "", `{"name":"a","email":"b"}`: "/email",
	} {
		err, ok := errors.AsType[*schema.Error](compiled.Validate([]byte(payload)))
		if !ok || err.Violations[0].Pointer != at {
			t.Errorf("%s: %v", payload, err)
		}
	}
	if err := compiled.Validate([]byte(`{"name":"a","more":1}`)); err != nil {
		t.Errorf("a member that the type does not name: %v", err)
	}
}

// Types of one name in two packages are two definitions.
func TestOf_tells_types_of_one_name_apart(t *testing.T) {
	t.Parallel()
	type both struct {
		A htmltemplate.Template
		B texttemplate.Template
	}
	text, err := schema.Of(reflect.TypeFor[both]())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"#/$defs/Template"`) || !strings.Contains(string(text), `"#/$defs/Template-2"`) {
		t.Errorf("got %s", text)
	}
}

type costly struct {
	X int `json:"x" jsonschema:"enum=1.5.2"`
}

type pattern struct {
	X string `json:"x" jsonschema:"pattern=("`
}

func TestOf_fails_for_what_JSON_cannot_hold(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{
		nil, reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[struct{ F func() }](), reflect.TypeFor[complex64](),
		reflect.TypeFor[pattern](), reflect.TypeFor[map[string]chan int](),
	} {
		if text, err := schema.Of(of); err == nil {
			t.Errorf("%v: got %s", of, text)
		}
	}
	if _, err := schema.Of(reflect.TypeFor[costly]()); err != nil {
		t.Errorf("a number the library cannot read: %v", err)
	}
}
