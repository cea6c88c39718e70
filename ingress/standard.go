package ingress

import (
	"encoding/base64"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// standard signs as https://www.standardwebhooks.com says, through its own library, but for the time: that is compared by
// the clock and the tolerance of the source.
type standard struct{ id, timestamp, signature string } // names of headers

func standardHeaders(prefix string) standard {
	return standard{prefix + "-id", prefix + "-timestamp", prefix + "-signature"}
}

func (s standard) signed() []string { return []string{s.id, s.timestamp} }

// secretPrefix begins the text of a secret.
const secretPrefix = "whsec_"

func (s standard) key(text string) ([]byte, string) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil {
		return nil, "must be whsec_ and base64"
	}
	if len(key) < 24 || len(key) > 64 {
		return nil, "must be 24 to 64 bytes in base64"
	}
	return key, ""
}

func (s standard) open(r *Request) (claim, Reason) {
	header := http.Header{}
	values := [3]string{}
	for i, name := range []string{s.id, s.timestamp, s.signature} {
		value, reason := r.one(name)
		if reason != "" {
			return claim{}, reason
		}
		values[i] = value
	}
	at, ok := parseTimestamp(values[1])
	// A dot in the ID would let part of it pass for the time.
	if !ok || strings.Contains(values[0], ".") || len(values[0]) > maxSignedID || len(values[2]) > maxSignatureHeader ||
		strings.Count(values[2], " ") >= maxSignatures {
		return claim{}, ReasonMalformed
	}
	header.Set(standardwebhooks.HeaderWebhookID, values[0])
	header.Set(standardwebhooks.HeaderWebhookTimestamp, values[1])
	header.Set(standardwebhooks.HeaderWebhookSignature, values[2])
	return claim{at: at, valid: func(key []byte) bool {
		hook, err := standardwebhooks.NewWebhookRaw(key)
		return err == nil && hook.VerifyIgnoringTimestamp(r.Body, header) == nil
	}}, ""
}
