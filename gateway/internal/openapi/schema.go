package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/flowgate-go/flowgate/internal/schema"
)

type object = map[string]any

const componentPrefix = "#/components/schemas/"

// schemas are the components of a description, each under the name of its type.
type schemas struct {
	all   object
	named map[known]string
}

// known is a body that has its component.
type known struct {
	of      reflect.Type
	verdict bool
}

// of is the schema of a body: a reference to a component.
func (s *schemas) of(value any) (object, error) {
	switch value := value.(type) {
	case nil, Any:
		return object{}, nil
	case Text:
		return object{"type": "string"}, nil
	case WithVerdict:
		return s.ofType(reflect.TypeOf(value.Value), true)
	}
	return s.ofType(reflect.TypeOf(value), false)
}

func (s *schemas) ofType(t reflect.Type, verdict bool) (object, error) {
	if name, there := s.named[known{t, verdict}]; there {
		return ref(name), nil
	}
	text, err := schema.Of(t)
	if err != nil {
		return nil, err
	}
	whole, err := decode(text)
	if err != nil {
		return nil, err
	}
	parts, _ := whole["$defs"].(object)
	delete(whole, "$defs")
	renamed := map[string]string{}
	for name, part := range parts {
		if renamed[name], err = s.add(exported(name), part); err != nil {
			return nil, err
		}
	}
	for _, name := range renamed {
		point(s.all[name], renamed)
	}
	point(whole, renamed)
	if verdict {
		addVerdict(whole)
	}
	name, err := s.add(nameOf(t), whole)
	if err != nil {
		return nil, err
	}
	s.named[known{t, verdict}] = name
	return ref(name), nil
}

// add makes a component, or finds that an equal one is there. Another one of the same name gets a number.
func (s *schemas) add(name string, part any) (string, error) {
	text, err := json.Marshal(part)
	if err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		free := name
		if i > 1 {
			free += strconv.Itoa(i)
		}
		there, taken := s.all[free]
		if !taken {
			s.all[free] = part
			return free, nil
		}
		if before, err := json.Marshal(there); err == nil && bytes.Equal(before, text) {
			return free, nil
		}
	}
}

// point turns references of one schema into those of the description.
func point(at any, renamed map[string]string) {
	switch at := at.(type) {
	case object:
		if to, ok := at["$ref"].(string); ok {
			if name, local := strings.CutPrefix(to, "#/$defs/"); local {
				at["$ref"] = componentPrefix + renamed[name]
			}
		}
		for _, inner := range at {
			point(inner, renamed)
		}
	case []any:
		for _, inner := range at {
			point(inner, renamed)
		}
	}
}

func addVerdict(whole object) {
	properties, _ := whole["properties"].(object)
	if properties == nil {
		properties = object{}
	}
	properties["verdict"] = object{"type": "string"}
	whole["properties"] = properties
	required, _ := whole["required"].([]any)
	whole["required"] = append(required, "verdict")
}

// withWords says which words a member named verdict may have, wherever it is.
func withWords(at any, words []string) {
	switch at := at.(type) {
	case object:
		if properties, ok := at["properties"].(object); ok {
			if verdict, ok := properties["verdict"].(object); ok {
				verdict["enum"] = words
			}
		}
		for _, inner := range at {
			withWords(inner, words)
		}
	case []any:
		for _, inner := range at {
			withWords(inner, words)
		}
	}
}

func ref(name string) object { return object{"$ref": componentPrefix + name} }

// nameOf is the name of a type, as a component's: Page[x.runView] is RunViewPage.
func nameOf(t reflect.Type) string {
	base, of, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return exported(base)
	}
	of = strings.TrimSuffix(of, "]")
	return exported(of[strings.LastIndexByte(of, '.')+1:]) + exported(base)
}

func exported(name string) string {
	if name == "" {
		return "Object"
	}
	name = strings.ReplaceAll(name, "-", "")
	return string(unicode.ToUpper(rune(name[0]))) + name[1:]
}

func decode(text []byte) (object, error) {
	var whole object
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("a schema that is no object: %w", err)
	}
	return whole, nil
}

// Members are the names of the members of a struct, in the order of its fields. They are what a body of that type may have.
func Members(of any) []string {
	var names []string
	t := reflect.TypeOf(of)
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, Members(reflect.Zero(f.Type).Interface())...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
