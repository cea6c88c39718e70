package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPatternBytes bounds the text of a pattern before it is expanded.
	maxPatternBytes = 1024
	// maxPatternSteps bounds the compiled pattern. Matching takes time in
	// proportion to it and to the text, and counted repetitions such as
	// (a{30}){30} make it large.
	maxPatternSteps = 4096
)

// compilePattern is the regular expression engine of every schema: RE2 syntax,
// linear time, bounded size.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("a pattern may have %d bytes", maxPatternBytes)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("not a regular expression of RE2 syntax: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("not a regular expression of RE2 syntax: %w", err)
	}
	if len(program.Inst) > maxPatternSteps {
		return nil, fmt.Errorf("a pattern may expand to %d steps, this one has %d", maxPatternSteps, len(program.Inst))
	}
	return regexp.Compile(pattern)
}
