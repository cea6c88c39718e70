package httppost_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// hush is in every hostile value and must be in no error.
const hush = "hush-hush"

// Every URL that is refused before anything is resolved; the rule may name no part of it.
var badURLs = []string{
	"", "/", "example.com", "//example.com/", "https:example.com", "https://", "https:///x", "https://?" + hush, "https://:443/",
	"http://example.com/" + hush, "ftp://example.com", "file:///etc/passwd", "gopher://example.com", "javascript:alert(1)",
	"https://user:" + hush + "@example.com", "https://" + hush + "@example.com", "https://@example.com", "https://a@127.0.0.1@b",
	"https://example.com#" + hush, "https://example.com/#",
	"https://example.com:80", "https://example.com:0", "https://example.com:65979", "https://example.com:x", "https://example.com:-1",
	"https://example.com:443:443", "https://exa mple.com", " https://example.com", "https://example.com\n", "https://example.com/\r\nX: y",
	"https://example.com\\@" + hush, "https://example.com/\x7f", "https://bücher.example", "https://example.com/ü", "https://ex%61mple.com",
	"https://127%2e0.0.1", "https://[::1", "https://::1/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[127.0.0.1]/x", "https://[v1.x]/",
	"https://2130706433", "https://0x7f000001", "https://0x7f.0.0.1", "https://0177.0.0.1", "https://127.1", "https://127.0.1",
	"https://127.0.0.1.", "https://0", "https://1.2.3.4.5", "https://256.1.1.1", "https://example.0x1", "https://example.123", "https://0x",
	"https://-a.example", "https://a-.example", "https://a..example", "https://.example", "https://*.example.com", "https://a,b.example",
	"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 130) + "example",
	"https://example.com/" + strings.Repeat("x", 2048),
}

func TestHostileURLs(t *testing.T) {
	t.Parallel()
	p := newPoster(t, httppost.Config{Resolver: &resolver{}})
	httppost.OnConnect(p, func(to netip.AddrPort) error {
		t.Errorf("about to connect to %s", to)
		return errors.New("not in a test")
	})
	for _, u := range badURLs {
		raw, err := json.Marshal(map[string]any{"url": u, "body": 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = do(t, p, json.RawMessage(raw))
		wantInvalid(t, u, err, "url")
	}
}

// wantInvalid checks that an input was refused for good, by the name of its field and without its value.
func wantInvalid(t *testing.T, what string, err error, field string) {
	t.Helper()
	if a := engine.AdviceOf(err); err == nil || a.Code != engine.CodeInput || !a.Final {
		t.Errorf("%.60q: %v (%+v)", what, err, a)
		return
	}
	invalid, ok := errors.AsType[*spec.InvalidError](err)
	if !ok || invalid.Field != field {
		t.Errorf("%.60q: %v, want field %q", what, err, field)
	}
	if strings.Contains(err.Error(), hush) || len(err.Error()) > 400 {
		t.Errorf("%.60q: the error repeats the value: %v", what, err)
	}
}

func TestHostileInputs(t *testing.T) {
	t.Parallel()
	p := newPoster(t, httppost.Config{Resolver: &resolver{}})
	many := func(n int, format string) string {
		return strings.TrimSuffix(strings.Repeat(format+",", n), ",")
	}
	for _, tt := range []struct{ members, field string }{
		{`"url":null`, "url"},
		{`"url":1`, "url"},
		{`"url":["https://example.com"]`, "url"},
		{`"url":"https://example.com","to":"x"`, "url"},
		{`"to":null`, "to"},
		{`"to":" x"`, "to"},
		{`"to":"` + strings.Repeat("x", 256) + `"`, "to"},
		{`"links":null`, "links"},
		{`"links":"approval"`, "links"},
		{`"links":[""]`, "links/0"},
		{`"links":["a","a"]`, "links/1"},
		{`"links":["a}{b"]`, "links/0"},
		{`"links":[` + many(17, `"h"`) + `]`, "links"},
		{`"headers":null`, "headers"},
		{`"headers":{"X-A":1}`, "headers"},
		{`"headers":["X-A"]`, "headers"},
		{`"headers":{"":"x"}`, "headers"},
		{`"headers":{"X A":"hush-hush"}`, "headers"},
		{`"headers":{"X-A\r\nHost":"x"}`, "headers"},
		{`"headers":{"X-Ä":"x"}`, "headers"},
		{`"headers":{"X-A":"a\r\nB: hush-hush"}`, "headers/X-A"},
		{`"headers":{"X-A":" hush-hush"}`, "headers/X-A"},
		{`"headers":{"X-A":"ü"}`, "headers/X-A"},
		{`"headers":{"X-A":"` + strings.Repeat("x", 1025) + `"}`, "headers/X-A"},
		{`"headers":{"X-A":"1","x-a":"2"}`, "headers/x-a"},
		{`"headers":{"Host":"hush-hush"}`, "headers/Host"},
		{`"headers":{"content-length":"1"}`, "headers/content-length"},
		{`"headers":{"Transfer-Encoding":"chunked"}`, "headers/Transfer-Encoding"},
		{`"headers":{"Connection":"keep-alive"}`, "headers/Connection"},
		{`"headers":{"Upgrade":"h2c"}`, "headers/Upgrade"},
		{`"headers":{"Expect":"100-continue"}`, "headers/Expect"},
		{`"headers":{"Content-Encoding":"gzip"}`, "headers/Content-Encoding"},
		{`"headers":{"Content-Type":"text/plain"}`, "headers/Content-Type"},
		{`"headers":{"User-Agent":"x"}`, "headers/User-Agent"},
		{`"headers":{"Idempotency-Key":"x"}`, "headers/Idempotency-Key"},
		{`"headers":{"Webhook-Id":"x"}`, "headers/Webhook-Id"},
		{`"headers":{"X-Forwarded-For":"x"}`, "headers/X-Forwarded-For"},
		{`"headers":{"X-Real-IP":"x"}`, "headers/X-Real-IP"},
		{`"headers":{"Proxy":"http://x"}`, "headers/Proxy"},
		{`"headers":{"X-Original-URL":"/admin"}`, "headers/X-Original-URL"},
		{`"headers":{"X-Rewrite-Url":"/admin"}`, "headers/X-Rewrite-Url"},
		{`"headers":{"x-http-method-override":"DELETE"}`, "headers/x-http-method-override"},
		{`"headers":{"Authorization":"Bearer hush-hush"}`, "headers/Authorization"},
		{`"headers":{"Proxy-Authorization":"hush-hush"}`, "headers/Proxy-Authorization"},
		{`"headers":{"Cookie":"hush-hush"}`, "headers/Cookie"},
		{`"headers":{"X-Api-Key":"hush-hush"}`, "headers/X-Api-Key"},
		{`"headers":{"X-Vault-Token":"hush-hush"}`, "headers/X-Vault-Token"},
		{`"auth":7`, "auth"},
		{`"auth":"a\nb"`, "auth"},
		{`"sign_with":{}`, "sign_with"},
		{`"sign_with":"` + strings.Repeat("x", 300) + `"`, "sign_with"},
		{`"timeout":null`, "timeout"},
		{`"timeout":5`, "timeout"},
		{`"timeout":"hush-hush"`, "timeout"},
		{`"timeout":"-1s"`, "timeout"},
		{`"timeout":"61s"`, "timeout"},
		{`"timeout":"9999999h"`, "timeout"},
		{`"statuses":200`, "statuses"},
		{`"statuses":[200.5]`, "statuses"},
		{`"statuses":[200,101]`, "statuses/1"},
		{`"statuses":[600]`, "statuses/0"},
		{`"statuses":[` + many(17, "200") + `]`, "statuses"},
		{`"capture_headers":"Date"`, "capture_headers"},
		{`"capture_headers":["Da te"]`, "capture_headers/0"},
		{`"capture_headers":["Date","Set-Cookie"]`, "capture_headers/1"},
		{`"capture_headers":[` + many(17, `"Date"`) + `]`, "capture_headers"},
		{`"capture_bytes":-1`, "capture_bytes"},
		{`"capture_bytes":16385`, "capture_bytes"},
		{`"capture_bytes":"1"`, "capture_bytes"},
		{`"capture_bytes":1e300`, "capture_bytes"},
		{`"message_id":"a.b"`, "message_id"},
		{`"message_id":"a b"`, "message_id"},
		{`"message_id":"ü"`, "message_id"},
		{`"message_id":"` + strings.Repeat("x", 129) + `"`, "message_id"},
		{`"redirects":5`, "redirects"},
		{`"URL":"https://example.com"`, "URL"},
		{`"hush-hush":1`, "input"},
	} {
		members := tt.members
		if !strings.Contains(members, `"url"`) && !strings.Contains(members, `"to"`) {
			members += `,"url":"https://example.com"`
		}
		_, err := do(t, p, json.RawMessage(`{"body":{"x":1},`+members+`}`))
		wantInvalid(t, tt.members, err, tt.field)
	}
	for _, tt := range []struct{ input, field string }{
		{`[]`, "input"},
		{`null`, "input"},
		{`"https://example.com"`, "input"},
		{`{}`, "body"},
		{`{"url":"https://example.com"}`, "body"},
		{`{"body":null,"url":"https://example.com"}`, "body"},
		{`{"body":1}`, "url"},
		{`{"body":"no placeholder","url":"https://example.com","links":["approval"]}`, "links/0"},
	} {
		c := httppost.Config{HookURL: func(*engine.Step, context.Context, string) (string, error) { return "https://x", nil }}
		_, err := do(t, newPoster(t, c), json.RawMessage(tt.input))
		wantInvalid(t, tt.input, err, tt.field)
	}
}

func TestInputsThatAreNoPayload(t *testing.T) {
	t.Parallel()
	p := newPoster(t, httppost.Config{Resolver: &resolver{}})
	for _, input := range []string{
		``, `{`, `{"body":1,"body":2}`, `{"url":"https://a.example","url":"https://b.example","body":1}`,
		`{"body":"\u0000"}`, `{"body":"\ud800"}`, `{"body":1}{}`, `{"body":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
		`{"body":"` + strings.Repeat("x", 256<<10) + `"}`,
	} {
		_, err := do(t, p, json.RawMessage(input))
		if a := engine.AdviceOf(err); err == nil || a.Code != engine.CodeInput || !a.Final {
			t.Errorf("%.60q: %v", input, err)
		}
	}
}

func TestNamedOnly(t *testing.T) {
	t.Parallel()
	_, err := do(t, newPoster(t, httppost.Config{NamedOnly: true}), httppost.Input{URL: "https://example.com", Body: 1})
	wantInvalid(t, "url", err, "url")
}

// An input of all members survives its JSON form.
func TestInputsDecodeAsWritten(t *testing.T) {
	t.Parallel()
	in := httppost.Input{
		URL: "https://example.com", Body: map[string]any{"a": 1}, Links: []spec.HookID{"approval"}, Headers: map[string]string{"X-A": "1"},
		Auth: "a", SignWith: "s", Timeout: httppost.Duration(5e9), Statuses: []int{200}, CaptureHeaders: []string{"Date"},
		CaptureBytes: new(int), MessageID: "m",
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := httppost.DecodeInput(raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(raw) {
		t.Errorf("%s, %v\nwant %s", again, err, raw)
	}
}
