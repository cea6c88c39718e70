package httppost

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// maxBodyDepth leaves a level for the output around the body.
const maxBodyDepth = 63

// replacement stands for what a text cannot hold.
const replacement = "\uFFFD"

// output keeps of a response what the input asks for. That reading breaks off does not undo what the status said.
func (p *Poster) output(a *post, r *http.Response) *Output {
	out := &Output{Status: r.StatusCode, Attempt: a.step.Attempt, MessageID: a.messageID}
	for _, name := range a.in.CaptureHeaders {
		if values := r.Header.Values(name); len(values) > 0 {
			if out.Headers == nil {
				out.Headers = map[string]string{}
			}
			out.Headers[name] = headerText(a.hide.scrub(values[0]))
		}
	}
	limit := p.config.CaptureBytes
	if a.in.CaptureBytes != nil {
		limit = *a.in.CaptureBytes
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	out.Truncated = err != nil || len(raw) > limit
	out.Body = bodyOf(&a.hide, raw[:min(len(raw), limit)], out.Truncated, isJSONType(r.Header.Get("Content-Type")))
	return out
}

// bodyOf is JSON if the body is declared so, whole and a payload, else text, and nil if there is nothing.
func bodyOf(hide *hidden, raw []byte, cut, declaredJSON bool) any {
	if len(raw) == 0 {
		return nil
	}
	if declaredJSON && !cut {
		if _, err := canon.Parse(raw, canon.Limits{MaxDepth: maxBodyDepth}); err == nil {
			return jsonBody(hide, raw)
		}
	}
	text := hide.scrub(string(raw))
	if cut {
		text = hide.trim(wholeRunes(text))
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, replacement), "\x00", replacement)
}

func jsonBody(hide *hidden, raw []byte) any {
	value, err := decodeAny(raw)
	if err != nil {
		return replacement // canon has parsed it
	}
	clean, found := hide.scrubAny(value)
	if !found {
		return json.RawMessage(raw)
	}
	return clean
}

// wholeRunes drops a character of which only the beginning was read.
func wholeRunes(s string) string {
	for n := 1; n <= utf8.UTFMax && n <= len(s); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return s[:len(s)-n]
			}
			break
		}
	}
	return s
}

// headerText bounds a header's value and makes it a text.
func headerText(v string) string {
	v = strings.ToValidUTF8(v[:min(len(v), maxHeaderValue/2)], replacement)
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7F {
			return utf8.RuneError
		}
		return c
	}, v)
}
