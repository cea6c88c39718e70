package httppost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// body is the bytes to send: the input's, or those with the links of hooks in them. It is the same on every attempt. The
// secrets that came in go into hide.
func (p *Poster) body(ctx context.Context, step *engine.Step, in *Input, hide *hidden) ([]byte, error) {
	raw, _ := in.Body.(json.RawMessage)
	if len(in.Links) == 0 {
		return raw, nil
	}
	links := make(map[string]tokens.Secret, len(in.Links))
	for _, id := range in.Links {
		link, err := p.link(ctx, step, id)
		if err != nil {
			return nil, err
		}
		hide.addURL(link)
		links["{hook:"+string(id)+"}"] = tokens.NewSecret(link)
	}
	return fillIn(raw, in.Links, links)
}

func notInBody(id spec.HookID) string { return fmt.Sprintf("body has no {hook:%s} in a string", id) }

// link makes the link of one hook.
func (p *Poster) link(ctx context.Context, step *engine.Step, id spec.HookID) (string, error) {
	if p.config.HookURL == nil {
		return "", marked(&Error{Code: CodeUnconfigured, Rule: "links of hooks are not configured"})
	}
	link, err := p.config.HookURL(step, ctx, string(id))
	if err == nil {
		return link, nil
	}
	if ctx.Err() != nil {
		return "", ended(ctx, "")
	}
	e := &Error{Code: CodeLink, Rule: fmt.Sprintf("the link of hook %q cannot be made", id), cause: err}
	if errors.Is(err, engine.ErrUnavailable) {
		e.Code = CodeUnavailable
	}
	return "", marked(e)
}

// fillIn replaces placeholders in the strings of a JSON value, not in names.
func fillIn(raw []byte, ids []spec.HookID, links map[string]tokens.Secret) ([]byte, error) {
	var pairs []string
	for placeholder, link := range links {
		pairs = append(pairs, placeholder, link.Reveal())
	}
	replacer := strings.NewReplacer(pairs...)
	used := map[string]bool{}
	value, err := decodeAny(raw)
	if err != nil {
		return nil, badInput(invalid("body", "must be a JSON value"))
	}
	value = eachString(value, func(s string) string {
		for placeholder := range links {
			used[placeholder] = used[placeholder] || strings.Contains(s, placeholder)
		}
		return replacer.Replace(s)
	})
	for i, id := range ids {
		if !used["{hook:"+string(id)+"}"] {
			return nil, badInput(invalid(fmt.Sprintf("links/%d", i), notInBody(id)))
		}
	}
	return encodeAny(value)
}

// decodeAny keeps numbers as they are written.
func decodeAny(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// encodeAny writes the members of objects in order of their names.
func encodeAny(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// eachString applies change to every string of a decoded JSON value that is not a name.
func eachString(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachString(v[i], change)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachString(v[k], change)
		}
	}
	return v
}
