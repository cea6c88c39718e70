package app

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/tokens"
)

// The log is scrubbed in both formats, also where a token hides in an error.
func TestLogHidesTokens(t *testing.T) {
	t.Parallel()
	k, err := keptKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	token := k.ring.Mint(tokens.Binding{Namespace: "default", RunID: "r", HookID: "h"}, tokens.Nonce{1}).Token.Reveal()
	for _, format := range []string{"json", "console", "auto"} {
		var out bytes.Buffer
		log, err := logSettings{LogLevel: "info", LogFormat: format}.logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Warn().Err(errors.New("no route for /callbacks/flow/hooks/"+token)).Str("url", "https://h/"+token).Msg("saw " + token)
		log.Debug().Msg("too quiet")
		text := out.String()
		if strings.Contains(text, token) || strings.Count(text, tokens.Redacted) != 3 {
			t.Errorf("%s: %q shows a token, or not what became of it", format, text)
		}
		if strings.Contains(text, "quiet") {
			t.Errorf("%s: the level was not kept: %q", format, text)
		}
		if asJSON := strings.HasPrefix(text, "{"); asJSON != (format != "console") {
			t.Errorf("%s: wrong format: %q", format, text)
		}
	}
}
