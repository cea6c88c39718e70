package ingress

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/mapping"
	"github.com/flowgate-go/flowgate/spec"
)

// parseScheme reads a way to sign that is no preset.
func parseScheme(at string, raw json.RawMessage) (*scheme, error) {
	f, err := objectAt(at, raw, "header", "prefix", "separator", "encoding", "hash", "signed", "timestamp_header", "timestamp_prefix",
		"id_header", "secret_encoding")
	if err != nil {
		return nil, err
	}
	s := &scheme{}
	var signed string
	for name, to := range map[string]*string{
		"header": &s.header, "timestamp_header": &s.timestampHeader, "id_header": &s.idHeader,
		"prefix": &s.prefix, "separator": &s.separator, "timestamp_prefix": &s.timestampPrefix, "signed": &signed,
	} {
		if *to, err = f.text(name); err != nil {
			return nil, err
		}
	}
	encoded, err := f.oneOf("encoding", string(encodingHex), string(encodingBase64))
	if err != nil {
		return nil, err
	}
	secrets, err := f.oneOf("secret_encoding", string(encodingText), string(encodingHex), string(encodingBase64))
	if err != nil {
		return nil, err
	}
	hash, err := f.oneOf("hash", "sha256", "sha512")
	if err != nil {
		return nil, err
	}
	s.encoding, s.secretEncoding, s.hash = encoding(encoded), encoding(secrets), hashes[hash]
	var rule string
	if s.text, rule = parseSigned(signed); rule != "" {
		return nil, f.refuse("signed", rule)
	}
	return s, s.check(f)
}

// check refuses a way to sign that would not cover what it reads.
func (s *scheme) check(f fields) error {
	for name, header := range map[string]*string{
		"header": &s.header, "timestamp_header": &s.timestampHeader, "id_header": &s.idHeader,
	} {
		if *header = strings.ToLower(*header); *header == "" && name != "header" {
			continue
		}
		if *header == "" || strings.Trim(*header, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return f.refuse(name, "must be the name of a header")
		}
	}
	times := s.timestampHeader != "" || s.timestampPrefix != ""
	switch {
	case s.timestampHeader != "" && s.timestampPrefix != "":
		return f.refuse("timestamp_prefix", "stands beside timestamp_header: keep one of them")
	case s.timestampPrefix != "" && (s.separator == "" || strings.HasPrefix(s.prefix, s.timestampPrefix) ||
		strings.HasPrefix(s.timestampPrefix, s.prefix)):
		return f.refuse("timestamp_prefix", "needs a separator, and a prefix of signatures that differs from it")
	case times != s.uses(valueTimestamp):
		return f.refuse("signed", "must hold {timestamp} if the time is read, and only then: a time that is not signed says nothing")
	case (s.idHeader != "") != s.uses(valueID):
		return f.refuse("signed", "must hold {id} if id_header is set, and only then")
	}
	return nil
}

// readMapping reads what events become. What no signature covers identifies nothing and chooses nothing, unless the
// configuration says so.
func (s *source) readMapping(f fields, way preset) error {
	rules := mapping.Rules{Payload: f.members["payload"]}
	namespace := ""
	for name, to := range map[string]*string{
		"namespace": &namespace, "run": &rules.Run, "signal": &rules.Signal, "hook": &rules.Hook, "id": &rules.ID,
	} {
		var err error
		if *to, err = f.text(name); err != nil {
			return err
		}
	}
	rules.Namespace = spec.DefaultNamespace
	if f.has("namespace") {
		rules.Namespace = spec.Namespace(namespace)
	}
	if !f.has("id") {
		rules.ID = way.id
	}
	if rules.ID == "" {
		return f.refuse("id", "is not set: say where the event's own ID is, such as /id, or {digest} if it has none")
	}
	var err error
	if rules.Ignore, err = f.texts("ignore"); err != nil {
		return err
	}
	if rules.When, err = readConditions(f); err != nil {
		return err
	}
	if s.mapping, err = mapping.Compile(rules); err != nil {
		if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
			return &spec.InvalidError{Field: f.at + "/" + bad.Field, Rule: bad.Rule}
		}
		return err
	}
	if s.mapping.ReadsBroker() {
		return &spec.InvalidError{Field: f.at, Rule: "reads key or subject, which no webhook has"}
	}
	return s.checkHeaders(f)
}

func readConditions(f fields) (map[string][]string, error) {
	if !f.has("when") {
		return nil, nil
	}
	when, err := objectAt(below(f.at, "when"), f.members["when"])
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for name, raw := range when.members {
		if raw[0] == '"' {
			text, err := when.text(name)
			if err != nil {
				return nil, err
			}
			found[name] = []string{text}
			continue
		}
		if found[name], err = when.texts(name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// checkHeaders refuses a mapping that reads headers which nobody signs.
func (s *source) checkHeaders(f fields) error {
	trusted, err := f.texts("unsigned_headers")
	if err != nil || s.verifier == nil {
		return err
	}
	for i, name := range trusted {
		trusted[i] = strings.ToLower(name)
	}
	for _, name := range s.mapping.Headers() {
		if !slices.Contains(s.verifier.signed(), name) && !slices.Contains(trusted, name) {
			return f.refuse("unsigned_headers", "must name the header "+name+", which the mapping reads and the signature does not cover: "+
				"whoever repeats a request can change it")
		}
	}
	return nil
}
