package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

type refused struct {
	Code    string `json:"code"`
	Verdict string `json:"verdict"`
}

// Item has the name of a type inside of a body of its own.
type Item struct {
	Name  string `json:"name"`
	Other *int   `json:"other,omitempty"`
}

type body struct {
	Items []Item `json:"items"`
}

// other returns a type of the name body too.
func other() any {
	type body struct {
		Text string `json:"text"`
	}
	return body{}
}

func document(t *testing.T, all ...openapi.Operation) map[string]any {
	t.Helper()
	text, err := openapi.Document(openapi.Info{Title: "T", Version: "1", Problem: refused{}, Verdicts: []string{"gone"}}, all)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// at is a part of a document by its pointer.
func at(t *testing.T, doc any, pointer ...string) any {
	t.Helper()
	for _, part := range pointer {
		object, ok := doc.(map[string]any)
		if !ok || object[part] == nil {
			t.Fatalf("%q is not there, of %v", part, pointer)
		}
		doc = object[part]
	}
	return doc
}

// Types of one name are two components, a type is one however often it is used, and nothing points nowhere.
func TestDocument_components(t *testing.T) {
	t.Parallel()
	answers := func(of ...any) []openapi.Answer { return []openapi.Answer{{Status: 200, About: "x", Of: of}} }
	doc := document(
		t,
		openapi.Operation{Method: "GET", Path: "/a/{x}", ID: "a", Answers: answers(body{})},
		openapi.Operation{Method: "POST", Path: "/a/{y}", ID: "b", Answers: answers(other(), openapi.WithVerdict{Value: Item{}})},
		openapi.Operation{Method: "GET", Path: "/c", ID: "c", Answers: answers(body{}, openapi.WithVerdict{Value: body{}}), HTML: true, Problems: []openapi.Problem{
			{Status: 410, Code: "over", Title: "Over"}, {Status: 410, Code: "ended", Title: "Ended"},
		}},
	)
	components := at(t, doc, "components", "schemas").(map[string]any)
	for _, name := range []string{"Refused", "Body", "Body2", "Body3", "Item"} {
		if components[name] == nil {
			t.Errorf("no component %s in %v", name, components)
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), `"$ref":"`)[1:] {
		to, _, _ := strings.Cut(part, `"`)
		if name, local := strings.CutPrefix(to, "#/components/schemas/"); !local || components[name] == nil {
			t.Errorf("%s points nowhere", to)
		}
	}
	post := at(t, doc, "paths", "/a/{x}", "post").(map[string]any)
	parameter := post["parameters"].([]any)[0].(map[string]any)
	if parameter["name"] != "x" || parameter["description"] != "Here it is the y." {
		t.Errorf("parameter %v", parameter)
	}
	gone := at(t, doc, "paths", "/c", "get", "responses", "410").(map[string]any)
	if gone["description"] != "Over, Ended." || at(t, gone, "content", "text/html") == nil {
		t.Errorf("410 is %v", gone)
	}
	codes, _ := json.Marshal(at(t, gone, "content", "application/problem+json", "schema", "properties", "code", "enum"))
	if string(codes) != `["ended","over"]` {
		t.Errorf("codes %s", codes)
	}
}

func TestDocument_refuses(t *testing.T) {
	t.Parallel()
	for name, all := range map[string][]openapi.Operation{
		"two of a path":  {{Method: "GET", Path: "/a/{x}", ID: "a"}, {Method: "GET", Path: "/a/{y}", ID: "b"}},
		"two of an ID":   {{Method: "GET", Path: "/a", ID: "a"}, {Method: "GET", Path: "/b", ID: "a"}},
		"one without ID": {{Method: "GET", Path: "/a"}},
		"a body of none": {{Method: "GET", Path: "/a", ID: "a", Body: &openapi.Body{Of: make(chan int)}}},
	} {
		if _, err := openapi.Document(openapi.Info{Problem: refused{}}, all); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	type whole struct {
		Item
		Last bool `json:"last"`
	}
	if got := strings.Join(openapi.Members(whole{}), " "); got != "name other last" {
		t.Errorf("got %s", got)
	}
}
