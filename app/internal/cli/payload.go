package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/flowgate-go/flowgate/spec"
)

// maxPayload bounds what is read of a file or the standard input, in bytes. Gateways take less.
const maxPayload = 4 << 20

// payloadOf reads the value of a flag that is JSON: itself, @ and the name of a file, or - for the standard input. It is nil
// where the flag is not set. Errors: *UsageError, which does not repeat the value.
func payloadOf(env Env, flag string, value *string) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	var text []byte
	var err error
	switch name, file := strings.CutPrefix(*value, "@"); {
	case *value == "-":
		text, err = limited(env.Stdin)
	case file:
		text, err = fileOf(name)
	default:
		text = []byte(*value)
	}
	if err != nil {
		return nil, &UsageError{fmt.Sprintf("%s: %v", flag, err)}
	}
	if !json.Valid(text) {
		return nil, &UsageError{flag + ` must be JSON, such as '{"approved":true}' or '"text"'; @FILE reads a file, - the standard input`}
	}
	return text, nil
}

func fileOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return limited(f)
}

func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPayload+1))
	if err == nil && len(text) > maxPayload {
		err = fmt.Errorf("has more than %d bytes", maxPayload)
	}
	return text, err
}

// labelsOf reads labels of the form key=value.
func labelsOf(pairs []string) (spec.Labels, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	all := spec.Labels{}
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, "=")
		if _, twice := all[key]; !found || twice {
			return nil, &UsageError{"--label must be key=value, and a key stands once"}
		}
		all[key] = value
	}
	return all, nil
}

// Paging are the flags of lists.
type Paging struct {
	Limit  int    `placeholder:"N" help:"Most items to list, at most 200; else 50."`
	Cursor string `placeholder:"CURSOR" help:"Go on where the list before ended."`
}

func (p Paging) check() error {
	if p.Limit < 0 || p.Limit > 200 {
		return &UsageError{"--limit must be from 1 to 200"}
	}
	return nil
}
