package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names of what operations refer to.
const (
	problemMedia = "application/problem+json"
	jsonMedia    = "application/json"
	htmlMedia    = "text/html"
	bearer       = "bearer"
)

// Document is the description of the operations, the same text for the same operations. Error: a type without a schema, or two
// operations of one method and path, or of one ID.
func Document(info Info, operations []Operation) (json.RawMessage, error) {
	s := &schemas{all: object{}, named: map[known]string{}}
	problem, err := s.of(info.Problem)
	if err != nil {
		return nil, err
	}
	paths, ids, shapes := object{}, map[string]bool{}, map[string]string{}
	for _, o := range operations {
		o = alike(o, shapes)
		item, _ := paths[o.Path].(object)
		if item == nil {
			item = object{}
			paths[o.Path] = item
		}
		method := strings.ToLower(o.Method)
		if item[method] != nil || ids[o.ID] || o.ID == "" {
			return nil, fmt.Errorf("%s %s: not the only operation of this method and path, or of the ID %q", o.Method, o.Path, o.ID)
		}
		ids[o.ID] = true
		if item[method], err = s.operation(o, problem); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Method, o.Path, err)
		}
	}
	withWords(s.all, info.Verdicts)
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": info.Title, "version": info.Version, "description": info.Description},
		"paths":   paths,
		"components": object{
			"schemas":         s.all,
			"securitySchemes": object{bearer: object{"type": "http", "scheme": "bearer"}},
		},
	})
}

// alike gives an operation the path of those before it that differ in the names of their parameters only: to OpenAPI these are
// one path.
func alike(o Operation, shapes map[string]string) Operation {
	shape := placeholder.ReplaceAllString(o.Path, "{}")
	first, known := shapes[shape]
	if !known {
		shapes[shape] = o.Path
		return o
	}
	notes := maps.Clone(o.PathNotes)
	if notes == nil {
		notes = map[string]string{}
	}
	theirs := placeholder.FindAllStringSubmatch(first, -1)
	for i, own := range placeholder.FindAllStringSubmatch(o.Path, -1) {
		if name := theirs[i][1]; name != own[1] && notes[name] == "" {
			notes[name] = "Here it is the " + own[1] + "."
		}
	}
	o.Path, o.PathNotes = first, notes
	return o
}

func (s *schemas) operation(o Operation, problem object) (object, error) {
	out := object{"operationId": o.ID, "summary": o.Summary, "tags": []string{o.Tag}, "security": []any{}}
	if o.Scopes != nil {
		out["security"] = []any{object{bearer: o.Scopes}}
	}
	if all := parametersOf(o); len(all) > 0 {
		out["parameters"] = all
	}
	if o.Body != nil {
		of, err := s.of(o.Body.Of)
		if err != nil {
			return nil, err
		}
		out["requestBody"] = object{
			"required": o.Body.Required, "content": object{orJSON(o.Body.Media): object{"schema": of}},
		}
	}
	responses := object{}
	for _, a := range o.Answers {
		if err := s.answer(responses, a); err != nil {
			return nil, err
		}
	}
	refusals(responses, o, problem)
	out["responses"] = responses
	return out, nil
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func parametersOf(o Operation) []any {
	var all []any
	text := object{"type": "string"}
	for _, match := range placeholder.FindAllStringSubmatch(o.Path, -1) {
		p := object{"name": match[1], "in": "path", "required": true, "schema": text}
		if about := o.PathNotes[match[1]]; about != "" {
			p["description"] = about
		}
		all = append(all, p)
	}
	for _, p := range o.Query {
		one := object{"name": p.Name, "in": "query", "description": p.About, "schema": text, "required": p.Required}
		if p.Repeated {
			one["schema"] = object{"type": "array", "items": text}
		}
		all = append(all, one)
	}
	for _, p := range o.Header {
		all = append(all, object{"name": p.Name, "in": "header", "description": p.About, "schema": text, "required": p.Required})
	}
	return all
}

// answer adds the bodies of one status.
func (s *schemas) answer(responses object, a Answer) error {
	response := object{"description": a.About}
	responses[strconv.Itoa(a.Status)] = response
	if len(a.Headers) > 0 {
		headers := object{}
		for name, about := range a.Headers {
			headers[name] = object{"description": about, "schema": object{"type": "string"}}
		}
		response["headers"] = headers
	}
	if len(a.Of) == 0 {
		return nil
	}
	var any []any
	for _, value := range a.Of {
		of, err := s.of(value)
		if err != nil {
			return err
		}
		any = append(any, of)
	}
	of := any[0]
	if len(any) > 1 {
		of = object{"anyOf": any}
	}
	response["content"] = object{orJSON(a.Media): object{"schema": of}}
	return nil
}

// refusals adds the problems of each status, beside what else the status may mean.
func refusals(responses object, o Operation, problem object) {
	codes, titles := map[int][]string{}, map[int][]string{}
	for _, p := range o.Problems {
		if !slices.Contains(codes[p.Status], p.Code) {
			codes[p.Status], titles[p.Status] = append(codes[p.Status], p.Code), append(titles[p.Status], p.Title)
		}
	}
	for status, known := range codes {
		response, _ := responses[strconv.Itoa(status)].(object)
		if response == nil {
			response = object{"description": strings.Join(titles[status], ", ") + "."}
			responses[strconv.Itoa(status)] = response
		}
		content, _ := response["content"].(object)
		if content == nil {
			content = object{}
			response["content"] = content
		}
		slices.Sort(known)
		content[problemMedia] = object{"schema": object{
			"$ref": problem["$ref"], "properties": object{"code": object{"enum": known}},
		}}
		if o.HTML { // what is refused before there is a route still gets a problem document
			content[htmlMedia] = object{"schema": object{"type": "string"}}
		}
	}
}

func orJSON(media string) string {
	if media == "" {
		return jsonMedia
	}
	return media
}
