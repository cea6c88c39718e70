package ingress

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

// parseOne checks a file of one source, written as members of an object; those that are not there are the usual ones.
func parseOne(members string) (*Config, error) {
	for name, usual := range map[string]string{
		"verify": `"github"`, "secrets": `[{"id":"a","secret":"` + firstSecret + `"}]`, "run": `"r"`, "signal": `"s"`, "id": `"/id"`,
	} {
		switch {
		case strings.Contains(members, `"-`+name+`"`):
			members = strings.Replace(members, `"-`+name+`":0,`, "", 1)
		case !strings.HasPrefix(members, `"`+name+`":`) && !strings.Contains(members, `,"`+name+`":`):
			members += fmt.Sprintf(`"%s":%s,`, name, usual)
		}
	}
	return Parse([]byte(`{"sources":{"it":{` + strings.TrimSuffix(members, ",") + `}}}`))
}

func TestParse_refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{`"colour":1,`, "sources/it/colour: is not known here"},
		{`"-verify":0,`, `sources/it/verify: is not set; a source that takes whatever comes says "unverified": true`},
		{`"verify":"md5",`, "sources/it/verify: must be one of github, pagerduty, shopify, slack, standard-webhooks, stripe, svix"},
		{`"verify":null,`, "sources/it/verify: must be a text"},
		{`"unverified":true,`, "sources/it/unverified: stands beside verify: keep one of them"},
		{`"-verify":0,"unverified":true,`, "sources/it/secrets: are of no use to an unverified source"},
		{`"-verify":0,"unverified":"yes",`, "sources/it/unverified: must be true or false"},
		{`"-secrets":0,`, "sources/it/secrets: must be 1 to 3"},
		{`"secrets":[],`, "sources/it/secrets: must be 1 to 3"},
		{`"secrets":{},`, "sources/it/secrets: must be a list"},
		{`"secrets":[1],`, "sources/it/secrets/0: must be an object"},
		{`"secrets":[{"id":"a"}],`, "sources/it/secrets/0/secret: must be 16 to 512 bytes"},
		{`"secrets":[{"id":"a","secret":""}],`, "sources/it/secrets/0/secret: must be 16 to 512 bytes"},
		{`"secrets":[{"id":"a","secret":"HUSH"}],`, "sources/it/secrets/0/secret: must be 16 to 512 bytes"},
		{`"secrets":[{"id":"a","secret":["HUSH"]}],`, "sources/it/secrets/0/secret: must be a text"},
		{`"secrets":[{"secret":"HUSHHUSHHUSHHUSH"}],`, "sources/it/secrets/0/id: must be 1 to 63 of a-z, 0-9, - and _, and is shown in logs"},
		{`"secrets":[{"id":"a","secret":"HUSHHUSHHUSHHUSH"},{"id":"a","secret":"HUSHHUSHHUSHHUSH"}],`, "sources/it/secrets/1/id: is that of another secret"},
		{`"secrets":[{"id":"a","secret":"HUSHHUSHHUSHHUSH","not_before":"tomorrow"}],`, "sources/it/secrets/0/not_before: must be a time such as 2026-01-31T00:00:00Z"},
		{`"secrets":[{"id":"a","secret":"HUSHHUSHHUSHHUSH","not_before":"2026-01-02T00:00:00Z","not_after":"2026-01-02T00:00:00Z"}],`, "sources/it/secrets/0/not_after: must be after not_before"},
		{`"verify":"svix","secrets":[{"id":"a","secret":"HUSHHUSHHUSHHUSH"}],`, "sources/it/secrets/0/secret: must be whsec_ and base64"},
		{`"verify":"svix","secrets":[{"id":"a","secret":"whsec_aGk="}],`, "sources/it/secrets/0/secret: must be 24 to 64 bytes in base64"},
		{`"tolerance":"1m",`, "sources/it/tolerance: is of no use: this way to sign covers no time"},
		{`"verify":"slack","tolerance":"0s",`, "sources/it/tolerance: must be a duration from 1s to 24h0m0s, such as 90s"},
		{`"verify":"slack","tolerance":"25h",`, "sources/it/tolerance: must be a duration from 1s to 24h0m0s, such as 90s"},
		{`"hold":"721h",`, "sources/it/hold: must be a duration from 0s to 720h0m0s, such as 90s"},
		{`"hold":"-1s",`, "sources/it/hold: must be a duration from 0s to 720h0m0s, such as 90s"},
		{`"hold":60,`, "sources/it/hold: must be a text"},
		{`"on_conflict":"overwrite",`, "sources/it/on_conflict: must be one of refuse, inbox"},
		{`"status":201,`, "sources/it/status: must be 200, 202 or 204"},
		{`"status":"202",`, "sources/it/status: must be 200, 202 or 204"},
		{`"status":202.5,`, "sources/it/status: must be 200, 202 or 204"},
		{`"namespace":"",`, "sources/it/namespace: must not be empty"},
		{`"-id":0,`, "sources/it/id: is not set: say where the event's own ID is, such as /id, or {digest} if it has none"},
		{`"id":"header:X-GitHub-Delivery",`, "sources/it/unsigned_headers: must name the header x-github-delivery, which the mapping reads and the signature does not cover: whoever repeats a request can change it"},
		{`"run":"header:X-Run","unsigned_headers":["X-Other"],`, "sources/it/unsigned_headers: must name the header x-run, which the mapping reads and the signature does not cover: whoever repeats a request can change it"},
		{`"verify":"slack","when":{"header:x-slack-signature":"a"},`, "sources/it/unsigned_headers: must name the header x-slack-signature, which the mapping reads and the signature does not cover: whoever repeats a request can change it"},
		{`"unsigned_headers":"X-Run",`, "sources/it/unsigned_headers: must be a list of texts"},
		{`"when":{"/type":7},`, "sources/it/when/~1type: must be a list of texts"},
		{`"when":[],`, "sources/it/when: must be an object"},
		{`"run":"{/a}{/b}",`, "sources/it/run: has two places side by side: put a text between them"},
		{`"ignore":["/id"],`, "sources/it/ignore/0: is read by run, signal, hook, id or when"},
		{`"payload":{"a":1},`, "sources/it/payload/a: must be a text or an object of texts"},
		{`"run":"{key}",`, "sources/it: reads key or subject, which no webhook has"},
		{`"payload":{"a":"{subject}"},`, "sources/it: reads key or subject, which no webhook has"},
		{`"hook":"h",`, "sources/it/hook: stands beside signal: keep one of them"},
		{`"verify":{"header":"X-Sig"},`, "sources/it/verify/signed: must hold {body}"},
		{`"verify":{"signed":"{body}"},`, "sources/it/verify/header: must be the name of a header"},
		{`"verify":{"header":"a b","signed":"{body}"},`, "sources/it/verify/header: must be the name of a header"},
		{`"verify":{"header":"X","signed":"{id}{body}"},`, "sources/it/verify/signed: must have a text between two values"},
		{`"verify":{"header":"X","signed":"{body}.{timestamp}"},`, "sources/it/verify/signed: must hold nothing behind {body} but text"},
		{`"verify":{"header":"X","signed":"{url}"},`, "sources/it/verify/signed: must hold {body}, {timestamp} and {id} only, and text between them"},
		{`"verify":{"header":"X","signed":"{body}","timestamp_header":"T"},`, "sources/it/verify/signed: must hold {timestamp} if the time is read, and only then: a time that is not signed says nothing"},
		{`"verify":{"header":"X","signed":"{timestamp}.{body}"},`, "sources/it/verify/signed: must hold {timestamp} if the time is read, and only then: a time that is not signed says nothing"},
		{`"verify":{"header":"X","signed":"{id}.{body}"},`, "sources/it/verify/signed: must hold {id} if id_header is set, and only then"},
		{`"verify":{"header":"X","signed":"{timestamp}.{body}","timestamp_prefix":"t="},`, "sources/it/verify/timestamp_prefix: needs a separator, and a prefix of signatures that differs from it"},
		{`"verify":{"header":"X","signed":"{body}","hash":"md5"},`, "sources/it/verify/hash: must be one of sha256, sha512"},
		{`"verify":{"header":"X","signed":"{body}","encoding":"text"},`, "sources/it/verify/encoding: must be one of hex, base64"},
		{`"verify":{"header":"X","signed":"{body}","secret_encoding":"hex"},"secrets":[{"id":"a","secret":"HUSH"}],`, "sources/it/secrets/0/secret: is not in hex"},
	} {
		members, want := tt[0], tt[1]
		_, err := parseOne(members)
		bad, ok := errors.AsType[*spec.InvalidError](err)
		if !ok {
			t.Errorf("%s: got %v", members, err)
			continue
		}
		if got := bad.Field + ": " + bad.Rule; got != want {
			t.Errorf("%s:\n got %s\nwant %s", members, got, want)
		}
		if strings.Contains(err.Error(), "HUSH") {
			t.Errorf("%s: the refusal shows the secret", members)
		}
	}
}

func TestParse_refuses_files(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "null", "[]", "{}", `{"sources":null}`, `{"sources":[]}`, `{"source":{}}`, `{"sources":{"a":{},"a":{}}}`, `{"sources":{"A":{}}}`,
		`{"sources":{"":{}}}`, `{"sources":{"-a":{}}}`, `{"sources":{"a:b":{}}}`, `{"sources":{"a/b":{}}}`, `{"sources":{"../a":{}}}`,
		`{"sources":{"` + strings.Repeat("a", 64) + `":{}}}`, `{"sources":{"a":1}}`, `{"sources":{"a":{}}} x`, "\ufeff{}",
		`{"sources":{"a":{"verify":"github","secrets":[{"id":"a","secret":"x","secret":"y"}]}}}`,
	} {
		_, err := Parse([]byte(text))
		if _, ok := errors.AsType[*spec.InvalidError](err); !ok {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if _, err := Parse([]byte(`{"sources":{}}`)); err != nil {
		t.Errorf("no sources: %v", err)
	}
}

func TestParse_takes(t *testing.T) {
	t.Parallel()
	for _, members := range []string{
		`"verify":"standard-webhooks","secrets":[{"id":"a","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}],"-id":0,`,
		`"id":"header:X-GitHub-Delivery","unsigned_headers":["x-github-delivery"],`,
		`"-verify":0,"-secrets":0,"unverified":true,"id":"header:anything",`,
		`"verify":{"header":"X-Sig","prefix":"s=","separator":";","timestamp_prefix":"t=","signed":"{timestamp}.{body}","encoding":"base64","hash":"sha512"},`,
		`"verify":{"header":"X-Sig","timestamp_header":"T","id_header":"I","signed":"{id}.{timestamp}.{body}"},"id":"header:i",`,
		`"namespace":"acme","hold":"0s","status":204,"on_conflict":"inbox","payload":{"a":"/b"},"ignore":["/c"],"when":{"/t":"x","/u":["a","b"]},`,
	} {
		if _, err := parseOne(members); err != nil {
			t.Errorf("%s: %v", members, err)
		}
	}
	c, err := parseOne(`"-verify":0,"-secrets":0,"unverified":true,`)
	if err != nil || fmt.Sprint(c.Unverified()) != "[it]" {
		t.Errorf("got %v, %v", c, err)
	}
}
