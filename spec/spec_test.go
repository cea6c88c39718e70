package spec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/spec"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value string
		rule  string // "" accepts
	}{
		"one byte":           {"a", ""},
		"limit":              {strings.Repeat("x", 255), ""},
		"separators":         {"a::b/c%2F", ""},
		"inner space":        {"a b", ""},
		"emoji":              {"🚀", ""},
		"decomposed":         {"e\u0301", ""},
		"empty":              {"", "must not be empty"},
		"over the limit":     {strings.Repeat("x", 256), "at most 255 bytes, has 256"},
		"multibyte over":     {strings.Repeat("é", 128), "at most 255 bytes, has 256"},
		"leading space":      {" a", "begin or end with a space"},
		"trailing newline":   {"a\n", "begin or end with a space"},
		"no-break space end": {"a\u00a0", "begin or end with a space"},
		"NUL":                {"a\x00b", "printable"},
		"control":            {"a\x1bb", "printable"},
		"bidi override":      {"a\u202eb", "printable"},
		"bad UTF-8":          {"a\xffb", "valid UTF-8"},
	} {
		err := spec.CheckName("run_id", tc.value)
		if tc.rule == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var invalid *spec.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "run_id" || !strings.Contains(invalid.Rule, tc.rule) {
			t.Errorf("%s: %v, want a rule with %q", name, err, tc.rule)
		}
		if len(tc.value) > 3 && strings.Contains(err.Error(), tc.value) {
			t.Errorf("%s: the error repeats the value", name)
		}
	}
}

func TestIDs_name_their_own_field(t *testing.T) {
	t.Parallel()
	for field, err := range map[string]error{
		"namespace": spec.Namespace("").Validate(), "run_id": spec.RunID("").Validate(), "signal_id": spec.SignalID("").Validate(),
		"hook_id": spec.HookID("").Validate(), "wait_id": spec.WaitID("").Validate(), "timer_id": spec.TimerID("").Validate(),
	} {
		var invalid *spec.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	many := spec.Labels{}
	for i := range 33 {
		many[fmt.Sprint("k", i)] = "v"
	}
	for name, tc := range map[string]struct {
		labels spec.Labels
		field  string
	}{
		"none":           {nil, ""},
		"good":           {spec.Labels{"a/b.c_d-e": "any text ü", "0": ""}, ""},
		"value limit":    {spec.Labels{"k": strings.Repeat("v", 255)}, ""},
		"too many":       {many, "labels"},
		"upper case key": {spec.Labels{"Team": "x"}, "labels"},
		"empty key":      {spec.Labels{"": "x"}, "labels"},
		"long key":       {spec.Labels{strings.Repeat("k", 64): "x"}, "labels"},
		"long value":     {spec.Labels{"k": strings.Repeat("v", 256)}, "labels/k"},
		"NUL value":      {spec.Labels{"k": "a\x00"}, "labels/k"},
		"bad UTF-8":      {spec.Labels{"k": "\xff"}, "labels/k"},
	} {
		err := tc.labels.Validate()
		var invalid *spec.InvalidError
		if tc.field == "" && err != nil || tc.field != "" && (!errors.As(err, &invalid) || invalid.Field != tc.field) {
			t.Errorf("%s: %v, want field %q", name, err, tc.field)
		}
	}
}

func TestHookMetadata(t *testing.T) {
	t.Parallel()
	base := spec.HumanApproval("Invoice 7")
	full := base.WithCallbackRoute(spec.PostRoute("/callbacks/flow/hooks/{token}")).WithLabel("team", "finance").WithData("amount", 12)
	if err := full.Validate(); err != nil {
		t.Fatal(err)
	}
	if base.Labels != nil || base.Data != nil || base.Route != nil {
		t.Error("a With method changed its receiver")
	}
	if other := full.WithLabel("team", "legal"); full.Labels["team"] != "finance" || other.Labels["team"] != "legal" {
		t.Error("WithLabel shares its map")
	}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"human_approval","subject":"Invoice 7","route":{"method":"POST","path":"/callbacks/flow/hooks/{token}"},` +
		`"labels":{"team":"finance"},"data":{"amount":12}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	for field, m := range map[string]spec.HookMetadata{
		"metadata":     base.WithData("x", strings.Repeat("y", spec.MaxMetadataBytes)),
		"data":         base.WithData("x", func() {}),
		"route/path":   base.WithCallbackRoute(spec.PostRoute("/no-token")),
		"route/method": base.WithCallbackRoute(spec.CallbackRoute{Method: "GET", Path: "/{token}"}),
		"labels":       base.WithLabel("Bad Key", "x"),
		"metadata/nul": base.WithData("x", "a\x00b"),
		"data/huge":    base.WithData("x", []any{json.Number("1e400")}),
	} {
		var invalid *spec.InvalidError
		if err := m.Validate(); !errors.As(err, &invalid) || invalid.Field != strings.TrimSuffix(strings.TrimSuffix(field, "/nul"), "/huge") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestWorkflowSpec(t *testing.T) {
	t.Parallel()
	good := spec.WorkflowSpec{
		Name: "w", Version: "1", Signals: []spec.Signal{{Name: "b"}, {Name: "a", Schema: json.RawMessage(`{}`)}},
		Hooks: []spec.Hook{{Name: "y", Audience: spec.Internal}, {Name: "x"}},
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	normal := good.Normalized()
	if normal.Signals[0].Name != "a" || normal.Hooks[0].Name != "x" || normal.Hooks[0].Audience != spec.Public || good.Signals[0].Name != "b" {
		t.Errorf("normalized %+v, original %+v", normal, good)
	}
	if h := good.Hook("undeclared"); h.Audience != spec.Public || h.Schema != nil || h.DisposableByToken {
		t.Errorf("defaults of an undeclared hook: %+v", h)
	}
	if _, ok := good.Signal("undeclared"); ok {
		t.Error("an undeclared signal was found")
	}
	for field, change := range map[string]func(*spec.WorkflowSpec){
		"name":             func(s *spec.WorkflowSpec) { s.Name = "" },
		"version":          func(s *spec.WorkflowSpec) { s.Version = " 1" },
		"input_schema":     func(s *spec.WorkflowSpec) { s.Input = json.RawMessage(`{`) },
		"signals/1/name":   func(s *spec.WorkflowSpec) { s.Signals = []spec.Signal{{Name: "a"}, {Name: "a"}} },
		"signals/0/schema": func(s *spec.WorkflowSpec) { s.Signals = []spec.Signal{{Name: "a", Schema: json.RawMessage(`x`)}} },
		"hooks/0/requires": func(s *spec.WorkflowSpec) { s.Hooks = []spec.Hook{{Name: "a", Requires: "luck"}} },
		"hooks/0/source":   func(s *spec.WorkflowSpec) { s.Hooks = []spec.Hook{{Name: "a", Requires: spec.Signature}} },
		"hooks/1/source": func(s *spec.WorkflowSpec) {
			s.Hooks = []spec.Hook{{Name: "a", Requires: spec.Signature, Source: "s"}, {Name: "b", Requires: spec.Credential, Source: "s"}}
		},
		"hooks/0/audience": func(s *spec.WorkflowSpec) { s.Hooks = []spec.Hook{{Name: "a", Audience: "friends"}} },
		"hooks/0/name":     func(s *spec.WorkflowSpec) { s.Hooks = []spec.Hook{{}} },
	} {
		s := good
		change(&s)
		var invalid *spec.InvalidError
		if err := s.Validate(); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
