package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is the description as the tests hold every response against it: members that it does not name are refused.
type contract struct {
	once     sync.Once
	err      error
	document map[string]any
	patterns map[string]*regexp.Regexp // of the paths of routes

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

var described31 contract

var escapedPlaceholder = regexp.MustCompile(`\\\{\w+\\\}`)

func (c *contract) load() {
	text, err := describe()
	if err != nil {
		c.err = err
		return
	}
	if c.err = json.Unmarshal(text, &c.document); c.err != nil {
		return
	}
	closeObjects(c.document)
	c.compiler, c.schemas = jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
	c.err = c.compiler.AddResource("https://flowgate.test/openapi.json", c.document)
	c.patterns = map[string]*regexp.Regexp{}
	for path := range c.document["paths"].(map[string]any) {
		c.patterns[path] = regexp.MustCompile("^" + escapedPlaceholder.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
	}
}

// closeObjects refuses members that an object does not name.
func closeObjects(at any) {
	switch at := at.(type) {
	case map[string]any:
		_, named := at["properties"]
		_, open := at["additionalProperties"]
		if named && !open && at["type"] == "object" {
			at["additionalProperties"] = false
		}
		for _, inner := range at {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range at {
			closeObjects(inner)
		}
	}
}

// seen fails a test whose response is not as described. What no route took is not described; nor is a HEAD.
func (c *contract) seen(t *testing.T, method, path string, r reply) {
	t.Helper()
	if err := c.check(method, path, r); err != nil {
		t.Errorf("%s is answered otherwise than /openapi.json says: %v", method, err)
	}
}

func (c *contract) check(method, path string, r reply) error {
	if c.once.Do(c.load); c.err != nil {
		return c.err
	}
	path, _, _ = strings.Cut(path, "?")
	pattern := c.pattern(path)
	item, _ := c.document["paths"].(map[string]any)[pattern].(map[string]any)
	operation, _ := item[strings.ToLower(method)].(map[string]any)
	if operation == nil {
		return nil
	}
	if id, _ := operation["operationId"].(string); strings.Contains(id, "_") {
		return nil // a route without words, of which TestOpenAPI tells
	}
	status := strconv.Itoa(r.status)
	response, _ := operation["responses"].(map[string]any)[status].(map[string]any)
	if response == nil {
		return fmt.Errorf("%s: status %s is not described: %s", pattern, status, r.raw)
	}
	content, _ := response["content"].(map[string]any)
	if r.raw == "" && content == nil {
		return nil
	}
	media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil || content[media] == nil {
		return fmt.Errorf("%s: status %s with the type %q is not described", pattern, status, r.header.Get("Content-Type"))
	}
	if !strings.HasSuffix(media, "json") {
		return nil
	}
	at := "#/paths/" + pointerPart(pattern) + "/" + strings.ToLower(method) + "/responses/" + status + "/content/" + pointerPart(media) + "/schema"
	schema, err := c.schema(at)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(r.raw)))
	if err != nil {
		return fmt.Errorf("%s: status %s: %w", pattern, status, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s: status %s: %w in %s", pattern, status, err, r.raw)
	}
	return nil
}

// pattern is the path of the route that takes a path: the one with the fewest parameters.
func (c *contract) pattern(path string) string {
	best := ""
	for pattern, matches := range c.patterns {
		if matches.MatchString(path) && (best == "" || strings.Count(pattern, "{") < strings.Count(best, "{")) {
			best = pattern
		}
	}
	return best
}

func (c *contract) schema(at string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.schemas[at]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile("https://flowgate.test/openapi.json" + at)
	if err == nil {
		c.schemas[at] = s
	}
	return s, err
}

func pointerPart(part string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part)
}

// requestLine reads the method and the path of a raw request.
func requestLine(request string) (method, path string) {
	line, _, _ := strings.Cut(request, "\r\n")
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "/") {
		return "", ""
	}
	return parts[0], parts[1]
}
