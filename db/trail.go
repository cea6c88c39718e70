package db

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTrailText bounds each text of a Trail, in bytes.
const maxTrailText = 255

// Trail says who makes a request, and how that is known. It travels in the context of the request, ends in the audit trail
// if one is kept, and decides nothing. Each text is cut to 255 bytes and what does not print is left out.
type Trail struct {
	Method        string // how the caller proved who it is: api-key, jwt, exchanged, token, page, ingress, open, run; empty: the host
	Credential    string // the public name of what it proved it with: a key ID, a source; never a secret
	Actor         string // who it is, for messages that do not name their actor
	RequestID     string
	Trace         string // W3C traceparent
	Peer          string // the network that the request came from, as a prefix
	SubjectDigest []byte // 32 bytes: of what a person was shown; nil for none
}

type trailKey struct{}

// WithTrail returns a context whose messages have this trail.
func WithTrail(ctx context.Context, t Trail) context.Context {
	for _, text := range []*string{&t.Method, &t.Credential, &t.Actor, &t.RequestID, &t.Trace, &t.Peer} {
		*text = auditText(*text)
	}
	if len(t.SubjectDigest) != 32 {
		t.SubjectDigest = nil
	}
	return context.WithValue(ctx, trailKey{}, &t)
}

// noTrail is that of the host's own calls.
var noTrail = &Trail{}

// TrailOf returns the trail of a context, the zero one if it has none.
func TrailOf(ctx context.Context) Trail { return *trailOf(ctx) }

func trailOf(ctx context.Context) *Trail {
	if t, ok := ctx.Value(trailKey{}).(*Trail); ok {
		return t
	}
	return noTrail
}

// auditText is a text as a row can hold it.
func auditText(s string) string {
	if utf8.ValidString(s) && len(s) <= maxTrailText && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if hidden(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s[:min(len(s), 4*maxTrailText)])
	for len(s) > maxTrailText {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }
