package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/mapping"
	"github.com/flowgate-go/flowgate/spec"
)

// The bounds of a configuration.
const (
	maxConfigBytes   = 1 << 20
	maxSources       = 1000
	maxSecrets       = 3
	maxSourceName    = 63
	DefaultTolerance = 5 * time.Minute     // between the time that was signed and ours, in both directions
	maxTolerance     = 24 * time.Hour      //
	MaxHold          = 30 * 24 * time.Hour // how long an early message can be told to wait
)

// Config is a checked file of sources. It is immutable.
type Config struct{ sources map[string]*source }

// source is one of them.
type source struct {
	name      string
	verifier  verifier // nil: unverified, said outright
	secrets   []secret
	tolerance time.Duration
	form      bool
	hello     bool // answers a handshake
	mapping   *mapping.Mapping
	hold      time.Duration
	keep      bool // conflicts are kept as dead letters instead of refused
	status    int
}

// Parse checks a file of sources. The error is an *spec.InvalidError whose field is the place in the file, a JSON Pointer
// without its first slash; it repeats no value.
func Parse(text []byte) (*Config, error) {
	if _, err := canon.Parse(text, canon.Limits{MaxBytes: maxConfigBytes}); err != nil {
		return nil, &spec.InvalidError{Field: "sources", Rule: "cannot be read: " + err.Error()}
	}
	top, err := objectAt("", text, "sources")
	if err != nil {
		return nil, &spec.InvalidError{Field: "sources", Rule: "must be in an object"}
	}
	all, err := objectAt("sources", top.members["sources"])
	if err != nil {
		return nil, err
	}
	if len(all.members) > maxSources {
		return nil, &spec.InvalidError{Field: "sources", Rule: "must be at most 1000"}
	}
	c := &Config{sources: map[string]*source{}}
	for _, name := range slices.Sorted(maps.Keys(all.members)) {
		if !isSourceName(name) {
			return nil, all.refuse(name, "is not a name of a source: want 1 to 63 of a-z, 0-9, - and _, beginning with a letter or digit")
		}
		f, err := objectAt(below("sources", name), all.members[name],
			"namespace", "verify", "unverified", "secrets", "tolerance", "form", "unsigned_headers",
			"when", "run", "signal", "hook", "id", "payload", "ignore", "hold", "on_conflict", "status")
		if err != nil {
			return nil, err
		}
		if c.sources[name], err = parseSource(name, f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func isSourceName(name string) bool {
	return name != "" && len(name) <= maxSourceName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" &&
		name[0] != '-' && name[0] != '_'
}

// Names are the names of the sources, sorted.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.sources)) }

// Unverified are the names of the sources that take whatever comes, sorted: somebody shall see that.
func (c *Config) Unverified() (names []string) {
	for _, name := range c.Names() {
		if c.sources[name].verifier == nil {
			names = append(names, name)
		}
	}
	return names
}

func parseSource(name string, f fields) (*source, error) {
	s := &source{name: name}
	way, err := s.verification(f)
	if err != nil {
		return nil, err
	}
	for _, read := range []func(fields) error{s.readSecrets, s.readConduct} {
		if err := read(f); err != nil {
			return nil, err
		}
	}
	return s, s.readMapping(f, way)
}

// verification reads how the source signs.
func (s *source) verification(f fields) (preset, error) {
	unverified, err := f.flag("unverified")
	if err != nil {
		return preset{}, err
	}
	var way preset
	switch {
	case f.has("verify") && unverified:
		return way, f.refuse("unverified", "stands beside verify: keep one of them")
	case !f.has("verify") && !unverified:
		return way, f.refuse("verify", `is not set; a source that takes whatever comes says "unverified": true`)
	case f.has("verify") && f.members["verify"][0] == '{':
		if way.verifier, err = parseScheme(below(f.at, "verify"), f.members["verify"]); err != nil {
			return way, err
		}
	case f.has("verify"):
		name, err := f.oneOf("verify", presetNames()...)
		if err != nil {
			return way, err
		}
		way = presets[name]
	}
	s.verifier, s.form, s.hello = way.verifier, way.form, way.hello
	if f.has("form") {
		if s.form, err = f.flag("form"); err != nil {
			return way, err
		}
	}
	s.tolerance, err = f.span("tolerance", DefaultTolerance, time.Second, maxTolerance)
	if err == nil && f.has("tolerance") && !signsTime(way.verifier) {
		err = f.refuse("tolerance", "is of no use: this way to sign covers no time")
	}
	return way, err
}

// signsTime says whether a way to sign covers a time.
func signsTime(v verifier) bool {
	switch v := v.(type) {
	case standard:
		return true
	case *scheme:
		return v.timestampHeader != "" || v.timestampPrefix != ""
	}
	return false
}

func (s *source) readSecrets(f fields) error {
	items, err := f.list("secrets")
	switch {
	case err != nil:
		return err
	case s.verifier == nil && len(items) > 0:
		return f.refuse("secrets", "are of no use to an unverified source")
	case s.verifier != nil && (len(items) == 0 || len(items) > maxSecrets):
		return f.refuse("secrets", "must be 1 to 3")
	}
	ids := map[string]bool{}
	for i, item := range items {
		one, err := s.readSecret(fmt.Sprintf("%s/%d", below(f.at, "secrets"), i), item)
		if err != nil {
			return err
		}
		if ids[one.id] {
			return &spec.InvalidError{Field: fmt.Sprintf("%s/%d/id", below(f.at, "secrets"), i), Rule: "is that of another secret"}
		}
		ids[one.id] = true
		s.secrets = append(s.secrets, one)
	}
	return nil
}

func (s *source) readSecret(at string, raw []byte) (one secret, err error) {
	f, err := objectAt(at, raw, "id", "secret", "not_before", "not_after")
	if err != nil {
		return one, err
	}
	if one.id, err = f.text("id"); err != nil {
		return one, err
	}
	if !isSourceName(one.id) {
		return one, f.refuse("id", "must be 1 to 63 of a-z, 0-9, - and _, and is shown in logs")
	}
	text, err := f.text("secret")
	if err != nil {
		return one, err
	}
	key, rule := s.verifier.key(text)
	if rule != "" {
		return one, f.refuse("secret", rule)
	}
	one.key = key
	if one.from, err = f.moment("not_before"); err != nil {
		return one, err
	}
	if one.to, err = f.moment("not_after"); err != nil {
		return one, err
	}
	if !one.to.IsZero() && !one.from.Before(one.to) {
		return one, f.refuse("not_after", "must be after not_before")
	}
	return one, nil
}

// readConduct reads what becomes of events that cannot be delivered at once, and how all are answered.
func (s *source) readConduct(f fields) (err error) {
	if s.hold, err = f.span("hold", 0, 0, MaxHold); err != nil {
		return err
	}
	conflict, err := f.oneOf("on_conflict", "refuse", "inbox")
	if err != nil {
		return err
	}
	s.keep, s.status = conflict == "inbox", 202
	const rule = "must be 200, 202 or 204"
	if err := f.read("status", &s.status, rule); err != nil {
		return err
	}
	if s.status != 200 && s.status != 202 && s.status != 204 {
		return f.refuse("status", rule)
	}
	return nil
}
