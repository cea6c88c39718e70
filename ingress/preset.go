package ingress

import (
	"crypto/sha256"
	"maps"
	"slices"
)

// preset is the way of one provider.
type preset struct {
	verifier verifier
	id       string // the template of the event's ID where the provider signs one
	form     bool   // sends forms with the field payload, too
	hello    bool   // asks for an echo before it sends anything
}

// presets are the providers that need no more than their name.
var presets = map[string]preset{
	"standard-webhooks": {verifier: standardHeaders("webhook"), id: "header:webhook-id"},
	"svix":              {verifier: standardHeaders("svix"), id: "header:svix-id"},
	"stripe": {verifier: &scheme{
		header: "stripe-signature", separator: ",", prefix: "v1=", timestampPrefix: "t=",
		encoding: encodingHex, hash: sha256.New, text: mustSigned("{timestamp}.{body}"), secretEncoding: encodingText,
	}, id: "/id"},
	"slack": {verifier: &scheme{
		header: "x-slack-signature", prefix: "v0=", timestampHeader: "x-slack-request-timestamp",
		encoding: encodingHex, hash: sha256.New, text: mustSigned("v0:{timestamp}:{body}"), secretEncoding: encodingText,
	}, id: "/event_id", form: true, hello: true},
	"github": {verifier: &scheme{
		header: "x-hub-signature-256", prefix: "sha256=",
		encoding: encodingHex, hash: sha256.New, text: mustSigned("{body}"), secretEncoding: encodingText,
	}, form: true},
	"shopify": {verifier: &scheme{
		header:   "x-shopify-hmac-sha256",
		encoding: encodingBase64, hash: sha256.New, text: mustSigned("{body}"), secretEncoding: encodingText,
	}},
	"pagerduty": {verifier: &scheme{
		header: "x-pagerduty-signature", separator: ",", prefix: "v1=",
		encoding: encodingHex, hash: sha256.New, text: mustSigned("{body}"), secretEncoding: encodingText,
	}, id: "/event/id"},
}

// presetNames are the names of the presets, sorted.
func presetNames() []string { return slices.Sorted(maps.Keys(presets)) }

// mustSigned is parseSigned for what is written in this package.
func mustSigned(text string) []piece {
	pieces, rule := parseSigned(text)
	if rule != "" {
		panic("ingress: a preset signs a text that " + rule)
	}
	return pieces
}
