package app

import (
	"testing"

	"github.com/flowgate-go/flowgate/gateway"
)

// The defaults that help shows are those of the gateway.
func TestLimitSettingsAreTheDefaults(t *testing.T) {
	t.Parallel()
	parser, err := newParser(invocation{getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	serve, ok := parsed.Selected().Target.Interface().(serveCommand)
	if !ok {
		t.Fatalf("got %T", parsed.Selected().Target.Interface())
	}
	got, err := serve.limits()
	if err != nil {
		t.Fatal(err)
	}
	want := gateway.DefaultLimits()
	want.Keys = 0 // no setting: the gateway's own
	if got.limits != want || got.inFlight != gateway.DefaultMaxInFlight || got.gatewayQuota() != nil {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gateway.Rate{
		"1/s:30": {PerSecond: 1, Burst: 30}, "30/m:5": {PerSecond: 0.5, Burst: 5}, "1.5/s:1": {PerSecond: 1.5, Burst: 1},
		"7200/h:9": {PerSecond: 2, Burst: 9}, "off": gateway.Unlimited(),
	} {
		if got, err := parseRate("X", text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "1/s", "1:1", "/s:1", "1/s:", "1/s:1:1", "1/x:1", " 1/s:1", "1/s:1.5", "1e9/s:1", "-1/s:1", "0/s:1", "OFF"} {
		if got, err := parseRate("X", text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
