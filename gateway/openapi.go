package gateway

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

const openAPIPattern = "/openapi.json"

// operation is what the description says of a route beside what the route says itself. What every route may answer is added:
// see common.
type operation struct {
	id, summary string
	query       []openapi.Parameter
	body        any  // a value of the type of the body; payload for any JSON; nil: none, or {}
	optional    bool // the body may be missing
	form        bool
	html        bool // for people, who get pages
	answers     []openapi.Answer
	refuses     []*problem
}

// payload is a body that is the caller's own JSON.
type payload = openapi.Any

// operations describe the routes, by method and pattern. A route without an entry fails the tests.
var operations = merged(callbackOperations, runOperations, messageOperations, hookOperations, letterOperations, workflowOperations, auditOperations, pageOperations)

func merged(all ...map[string]operation) map[string]operation {
	out := map[string]operation{}
	for _, part := range all {
		maps.Copy(out, part)
	}
	return out
}

// ok is an answer with one of these bodies.
func ok(status int, about string, of ...any) openapi.Answer {
	return openapi.Answer{Status: status, About: about, Of: of}
}

// shown is a read: the members of a value, and the verdict.
func shown(value any) []openapi.Answer {
	return []openapi.Answer{ok(200, "It is there.", openapi.WithVerdict{Value: value})}
}

// receipted is an accepted message, also a repeated one.
func receipted(status int, of any) []openapi.Answer {
	a := ok(status, "It is durable, or was before.", of)
	a.Headers = map[string]string{"Idempotent-Replayed": "true for a message that was accepted before."}
	return []openapi.Answer{a}
}

func parameter(name, about string) openapi.Parameter {
	return openapi.Parameter{Name: name, About: about}
}

// paged are the parameters of a list, after its own.
func paged(own ...openapi.Parameter) []openapi.Parameter {
	return append(own, parameter("cursor", "next_cursor of the page before."), parameter("limit", "Most items, 1 to 200; else 50."))
}

var (
	labelParameter = openapi.Parameter{Name: "label", About: "key=value; all of them must be there.", Repeated: true}
	waitParameter  = parameter("wait", "How long to wait for the end, such as 30s, at most 60s.")
)

// showDescription serves the description, to everybody.
func (g *Gateway) showDescription(c *fiber.Ctx, k *call) error {
	text, err := theDescription.get()
	if err != nil {
		return err
	}
	k.verdict = engine.VerdictAccepted
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(text)
}

// description is the text, made once: every gateway has the same routes.
type description struct {
	once sync.Once
	text json.RawMessage
	err  error
}

var theDescription description

func (d *description) get() (json.RawMessage, error) {
	d.once.Do(func() { d.text, d.err = describe() })
	return d.text, d.err
}

func describe() (json.RawMessage, error) {
	var all []openapi.Operation
	for _, r := range (*Gateway)(nil).routes() {
		all = append(all, described(r))
	}
	var words []string
	for _, v := range []engine.Verdict{
		engine.VerdictAccepted, engine.VerdictDuplicate, engine.VerdictConflict, engine.VerdictGone,
		engine.VerdictUnknown, engine.VerdictInvalid, engine.VerdictDenied, engine.VerdictBusy,
	} {
		words = append(words, string(v))
	}
	return openapi.Document(openapi.Info{
		Title: "Flowgate", Version: "1", Problem: problemDocument{}, Verdicts: words,
		Description: "Durable workflows that wait for the outside world: docs/http.md has the words and the promises. " +
			"Every body of the API has a verdict; a refusal is a problem document (RFC 9457).",
	}, all)
}

var unworded = regexp.MustCompile(`\W+`)

func described(r route) openapi.Operation {
	o := operations[r.method+" "+r.pattern]
	if o.id == "" { // the tests find it; a description that lacks one route's words is better than none
		o.id = unworded.ReplaceAllString(r.method+r.pattern, "_")
	}
	out := openapi.Operation{
		Method: r.method, Path: r.pattern, ID: o.id, Summary: o.summary, Tag: tagOf(r.pattern), Query: o.query, Answers: o.answers, HTML: o.html,
	}
	if r.needs != "" {
		out.Scopes = []string{string(r.needs)}
		if r.also != "" {
			out.Scopes = append(out.Scopes, string(r.also))
		}
	}
	if r.keyed {
		const about = "ID of the message: the same one again has no second effect. Else an ID is made."
		out.Header = append(out.Header, parameter("Idempotency-Key", about))
		out.Query = append(slices.Clone(out.Query), parameter("idempotency_key", about+" The header wins."))
	}
	if o.body != nil {
		out.Body = &openapi.Body{Of: o.body, Required: !o.optional}
		if o.form {
			out.Body.Media = fiber.MIMEApplicationForm
		}
	}
	for _, p := range append(common(r), o.refuses...) {
		out.Problems = append(out.Problems, openapi.Problem{Status: p.status, Code: p.code, Title: p.title})
	}
	return out
}

// common are the refusals that a route may give without saying so.
func common(r route) []*problem {
	all := []*problem{
		malformedRequest, invalidArgument, keyInvalid, forbiddenHost, requestTimeout, payloadTooLarge, expectationFailed, headersTooLarge,
		rateLimited, unavailable, internal,
	}
	if r.method != fiber.MethodGet {
		all = append(all, unsupportedMediaType, malformedPayload)
	}
	if r.needs != "" {
		all = append(all, unauthorized, forbidden)
	}
	if strings.Contains(r.pattern, "{") {
		all = append(all, notFound)
	}
	if r.keyed {
		all = append(all, keyRequired)
	}
	return all
}

// tagOf is what the routes are grouped by: the last word of a pattern's fixed beginning.
func tagOf(pattern string) string {
	fixed, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pattern, "/"), "v1/"), "/")
	return strings.TrimSuffix(fixed, ".json")
}
