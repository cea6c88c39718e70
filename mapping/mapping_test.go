package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

func rules() Rules {
	return Rules{Namespace: "acme", Run: "order-{/data/order}", Signal: "paid", ID: "/id"}
}

const body = `{"id":"evt_1","type":"paid","attempt":3,"data":{"order":17,"amount":12.50,"tags":["a",{"b":null}],"no":null,"yes":true,"":"empty"}}`

func message(body string, headers ...string) *Message {
	m := &Message{Header: map[string][]string{}, Body: []byte(body)}
	for i := 0; i+1 < len(headers); i += 2 {
		m.Header[headers[i]] = append(m.Header[headers[i]], headers[i+1])
	}
	return m
}

// outcome is what a mapping makes, in one line.
func outcome(t *testing.T, r Rules, m *Message) string {
	t.Helper()
	compiled, err := Compile(r)
	if err != nil {
		return "refused: " + err.Error()
	}
	target, err := compiled.Target(m, canon.Limits{})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %s %s %s %s", target.Namespace, target.Run, target.Kind, target.Name, target.EventID, target.Payload.Bytes())
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Rules)
		with   []string // headers
		want   string
	}{
		"the whole body":         {func(*Rules) {}, nil, "acme order-17 signal paid evt_1 " + body},
		"a place":                {func(r *Rules) { r.Payload = raw(`"/data/amount"`) }, nil, "acme order-17 signal paid evt_1 12.50"},
		"a place in an array":    {func(r *Rules) { r.Payload = raw(`"/data/tags/1"`) }, nil, `acme order-17 signal paid evt_1 {"b":null}`},
		"null at a place":        {func(r *Rules) { r.Payload = raw(`"/data/no"`) }, nil, "acme order-17 signal paid evt_1 null"},
		"an empty key":           {func(r *Rules) { r.Run = "/data/" }, nil, "acme empty signal paid evt_1 " + body},
		"an object":              {func(r *Rules) { r.Payload = raw(`{"a":"/data/yes","b":{"c":"x-{/id}"}}`) }, nil, `acme order-17 signal paid evt_1 {"a":true,"b":{"c":"x-evt_1"}}`},
		"an object with all":     {func(r *Rules) { r.Payload = raw(`{"all":""}`); r.Ignore = []string{"/data"}; r.Run = "/id" }, nil, `acme evt_1 signal paid evt_1 {"all":{"attempt":3,"id":"evt_1","type":"paid"}}`},
		"a plain text":           {func(r *Rules) { r.Payload = raw(`"done"`) }, nil, `acme order-17 signal paid evt_1 "done"`},
		"a header":               {func(r *Rules) { r.Run = "header:X-Run" }, []string{"x-run", "r 1"}, "acme r 1 signal paid evt_1 " + body},
		"a name from the body":   {func(r *Rules) { r.Signal = "order.{/type}" }, nil, "acme order-17 signal order.paid evt_1 " + body},
		"a hook":                 {func(r *Rules) { r.Signal, r.Hook = "", "approval" }, nil, "acme order-17 hook approval evt_1 " + body},
		"braces":                 {func(r *Rules) { r.Run = "{{{/id}}}" }, nil, "acme {evt_1} signal paid evt_1 " + body},
		"two places":             {func(r *Rules) { r.Run = "{/type}-{/data/order}" }, nil, "acme paid-17 signal paid evt_1 " + body},
		"ignored fields go":      {func(r *Rules) { r.Ignore = []string{"/attempt", "/data/tags/0", "/nothing", "/data/tags/9"} }, nil, `acme order-17 signal paid evt_1 {"data":{"":"empty","amount":12.50,"no":null,"order":17,"tags":[null,{"b":null}],"yes":true},"id":"evt_1","type":"paid"}`},
		"a condition that holds": {func(r *Rules) { r.When = map[string][]string{"/type": {"other", "paid"}, "header:x-kind": {"a"}} }, []string{"x-kind", "a"}, "acme order-17 signal paid evt_1 " + body},
		"another condition":      {func(r *Rules) { r.When = map[string][]string{"/type": {"other"}} }, nil, ErrUnwanted.Error()},
		"a condition on nothing": {func(r *Rules) { r.When = map[string][]string{"/kind": {""}} }, nil, ErrUnwanted.Error()},

		"nothing there":          {func(r *Rules) { r.Run = "/data/run" }, nil, "run of the message: /data/run is not there"},
		"below a text":           {func(r *Rules) { r.Run = "/id/x" }, nil, "run of the message: /id/x is not there"},
		"null":                   {func(r *Rules) { r.ID = "/data/no" }, nil, "id of the message: /data/no is not there"},
		"a bool":                 {func(r *Rules) { r.ID = "/data/yes" }, nil, "id of the message: /data/yes is neither a text nor a whole number"},
		"an object as text":      {func(r *Rules) { r.ID = "/data" }, nil, "id of the message: /data is neither a text nor a whole number"},
		"a broken number":        {func(r *Rules) { r.ID = "/data/amount" }, nil, "id of the message: /data/amount is neither a text nor a whole number"},
		"no header":              {func(r *Rules) { r.Run = "header:x-run" }, nil, "run of the message: header:x-run is not there"},
		"an empty header":        {func(r *Rules) { r.Run = "header:x-run" }, []string{"x-run", ""}, "run of the message: header:x-run is not there"},
		"a repeated header":      {func(r *Rules) { r.Run = "header:x-run" }, []string{"x-run", "a", "x-run", "a"}, "run of the message: header:x-run is there more than once"},
		"no payload":             {func(r *Rules) { r.Payload = raw(`{"a":"/nothing"}`) }, nil, "payload of the message: /nothing is not there"},
		"no key":                 {func(r *Rules) { r.ID = "{key}" }, nil, "id of the message: key is not there"},
		"a run that is none":     {func(r *Rules) { r.Run = "header:x-run" }, []string{"x-run", "a\x00b"}, "invalid run_id: must hold printable characters only"},
		"a run with a space":     {func(r *Rules) { r.Run = "header:x-run" }, []string{"x-run", " a"}, "invalid run_id: must not begin or end with a space"},
		"a run that is too long": {func(r *Rules) { r.Run = "header:x-run" }, []string{"x-run", strings.Repeat("r", 256)}, "invalid run_id: must be at most 255 bytes, has 256"},
		"a signal that is none":  {func(r *Rules) { r.Signal = "header:x-run" }, []string{"x-run", "a\nb"}, "invalid signal: must hold printable characters only"},
	} {
		r := rules()
		tt.change(&r)
		if got := outcome(t, r, message(body, tt.with...)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// A body that is no payload is refused as any payload is, with its rule and without its text.
func TestTarget_refuses_bodies(t *testing.T) {
	t.Parallel()
	m, err := Compile(rules())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{", "nope", `{"id":"a","id":"b"}`, "\ufeff{}", `{"id":"a\u0000"}`, `{"id":"\ud800"}`, "{}{}", `{"id":1e400}`, "{\"id\":\"\xff\"}",
		strings.Repeat("[", 65) + strings.Repeat("]", 65),
	} {
		_, err := m.Target(message(text), canon.Limits{})
		if _, ok := errors.AsType[*canon.PayloadError](err); !ok {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
	if _, err := m.Target(message(`"`+strings.Repeat("x", 1000)+`"`), canon.Limits{MaxBytes: 100}); !errors.Is(err, canon.ErrPayloadTooLarge) {
		t.Errorf("too large: got %v", err)
	}
	for _, text := range []string{"null", "1", `"x"`, "[]", "{}", `[{"id":"a"}]`} {
		_, err := m.Target(message(text), canon.Limits{})
		if bad, ok := errors.AsType[*Error](err); !ok || bad.Field != "id" {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestCompile_refuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Rules){
		"invalid namespace: must not be empty":                                                      func(r *Rules) { r.Namespace = "" },
		"invalid run: must not be empty":                                                            func(r *Rules) { r.Run = "" },
		"invalid id: must not be empty":                                                             func(r *Rules) { r.ID = "" },
		"invalid signal: is not set, and neither is hook":                                           func(r *Rules) { r.Signal = "" },
		"invalid hook: stands beside signal: keep one of them":                                      func(r *Rules) { r.Hook = "h" },
		"invalid id: must read something of the message, or all events are one":                     func(r *Rules) { r.ID = "constant" },
		"invalid run: has a { without a }; write {{ for the character":                              func(r *Rules) { r.Run = "a{/b" },
		"invalid run: has a } without a {; write }} for the character":                              func(r *Rules) { r.Run = "a}b" },
		"invalid run: has two places side by side: put a text between them":                         func(r *Rules) { r.Run = "{/a}{/b}" },
		"invalid run: has a ~ that is neither ~0 nor ~1":                                            func(r *Rules) { r.Run = "/a~2" },
		"invalid run: names a header that is none":                                                  func(r *Rules) { r.Run = "header:" },
		"invalid hook: names a header that is none":                                                 func(r *Rules) { r.Signal, r.Hook = "", "header:a b" },
		"invalid run: must be at most 1024 bytes":                                                   func(r *Rules) { r.Run = "/" + strings.Repeat("a", 1024) },
		"invalid payload: must be a text or an object of texts":                                     func(r *Rules) { r.Payload = raw(`7`) },
		"invalid payload/a~1b: must be a text or an object of texts":                                func(r *Rules) { r.Payload = raw(`{"a/b":[]}`) },
		"invalid payload/a: has a } without a {; write }} for the character":                        func(r *Rules) { r.Payload = raw(`{"a":"}"}`) },
		"invalid when/~1type: must name a place and the texts that may be there":                    func(r *Rules) { r.When = map[string][]string{"/type": nil} },
		"invalid when/type: must name a place and the texts that may be there":                      func(r *Rules) { r.When = map[string][]string{"type": {"a"}} },
		"invalid ignore/0: must be a JSON Pointer that begins with /":                               func(r *Rules) { r.Ignore = []string{""} },
		"invalid ignore/1: is read by run, signal, hook, id or when":                                func(r *Rules) { r.Ignore = []string{"/x", "/data"} },
		"invalid ignore/0: is read by run, signal, hook, id or when":                                func(r *Rules) { r.Ignore = []string{"/id/deeper"} },
		"invalid ignore/0: is what payload reads, or holds it":                                      func(r *Rules) { r.Payload, r.Ignore = raw(`{"a":"/b/c"}`), []string{"/b"} },
		"invalid ignore/1: is what payload reads, or holds it":                                      func(r *Rules) { r.Payload, r.Ignore = raw(`"/b/c"`), []string{"/b/c/d", "/b/c"} },
		"invalid ignore: must be at most 64 places":                                                 func(r *Rules) { r.Ignore = make([]string, 65) },
		"invalid run: names a place that is none of /pointer, header:name, key, subject and digest": func(r *Rules) { r.Run = "{nope}" },
	} {
		r := rules()
		change(&r)
		_, err := Compile(r)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, ok := errors.AsType[*spec.InvalidError](err); !ok {
			t.Errorf("%v is a %T", err, err)
		}
	}
	deep := strings.Repeat(`{"a":`, 9) + `"x"` + strings.Repeat("}", 9)
	if _, err := Compile(Rules{Namespace: "n", Run: "r", Signal: "s", ID: "/i", Payload: raw(deep)}); err == nil {
		t.Error("a payload of any depth is taken")
	}
}

// Two events that differ in what identifies them never share an identity, however their texts join.
func TestTwoEventsNeverShareAnIdentity(t *testing.T) {
	t.Parallel()
	id := func(template, a, b string) string {
		m, err := Compile(Rules{Namespace: "n", Run: "r", Signal: "s", ID: template})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(map[string]string{"a": a, "b": b})
		if err != nil {
			t.Fatal(err)
		}
		target, err := m.Target(message(string(text)), canon.Limits{})
		if err != nil {
			return ""
		}
		return Identity("src", target.EventID)
	}
	texts := []string{"a", "b", "ab", "a-", "-a", "a--", "--a", "-", "--", "a-b", "b-a", "a--b", "---", "sha256:a", "é", "a:b", ":"}
	for _, template := range []string{"{/a}-{/b}", "{/a}--{/b}", "x{/a}:{/b}y", "{/a}-a-{/b}"} {
		seen := map[string]string{}
		for _, a := range texts {
			for _, b := range texts {
				got, pair := id(template, a, b), fmt.Sprintf("%q %q", a, b)
				if before, twice := seen[got]; twice && got != "" {
					t.Errorf("%s: %s and %s are both %s", template, before, pair, got)
				}
				seen[got] = pair
			}
		}
		if len(seen) < len(texts) {
			t.Errorf("%s: only %d identities", template, len(seen))
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("e", 300)
	seen := map[string]string{}
	for _, event := range []string{
		"evt_1", long, long + "x", strings.Repeat("e", 251), strings.Repeat("e", 252), " a", "a\x00", "a\n", "fhk_" + strings.Repeat("A", 49),
		"sha256:" + strings.Repeat("0", 64), "é", "\xff",
	} {
		id := Identity("src", event)
		if err := spec.CheckName("id", id); err != nil {
			t.Errorf("%.20q: %v", event, err)
		}
		if before, twice := seen[id]; twice {
			t.Errorf("%.20q and %.20q are both %s", before, event, id)
		}
		seen[id] = event
		// Who sends the text of a hashed identity as an event ID gets another one.
		if again := Identity("src", strings.TrimPrefix(id, "src:")); strings.HasPrefix(id, "src:sha256:") && again == id {
			t.Errorf("%.20q can be sent as %s", event, id)
		}
	}
	if got := Identity("src", "evt_1"); got != "src:evt_1" {
		t.Errorf("got %s", got)
	}
}

// Equal bodies have one digest, whatever their spelling and what is ignored says.
func TestDigestIsOfWhatCounts(t *testing.T) {
	t.Parallel()
	r := rules()
	r.Run, r.ID, r.Ignore = "r", "{digest}", []string{"/attempt"}
	m, err := Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	id := func(body string) string {
		target, err := m.Target(message(body), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return target.EventID
	}
	first := id(`{"a":1,"attempt":1}`)
	for _, same := range []string{`{"attempt":2,"a":1.0}`, `{ "a" : 1 }`, `{"\u0061":1,"attempt":null}`} {
		if id(same) != first {
			t.Errorf("%s has another identity", same)
		}
	}
	if id(`{"a":2,"attempt":1}`) == first || len(first) != 64 {
		t.Error("another body has the same identity")
	}
}

// An error names places of the configuration and nothing of the message.
func TestErrorsDoNotRepeatTheMessage(t *testing.T) {
	t.Parallel()
	r := rules()
	r.Run, r.Payload = "{/a}-{/b}", raw(`{"x":"/c"}`)
	m, err := Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"id":"SECRET","a":"SECRET-","b":"SECRET"}`, `{"id":["SECRET"]}`, `{"id":"SECRET","a":"SECRET","b":" "}`,
		`{"id":"SECRET","a":"a","b":"b"}`, `{"id":"SECRET","SECRET":1,"SECRET":2}`,
	} {
		if _, err := m.Target(message(text), canon.Limits{}); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
