package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/tokens"
)

// shown are all the ways in which a value ends in a text: the verbs of fmt, JSON, and the loggers.
func shown(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X"} {
		fmt.Fprintf(&out, verb+"\n", v)
	}
	fmt.Fprintln(&out, v)
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	zero := zerolog.New(&out)
	zero.Info().Interface("v", v).Any("w", v).Msgf("%v", v)
	zero.Info().Fields(map[string]any{"v": v}).Send()
	if err, ok := v.(error); ok {
		zero.Info().Err(err).AnErr("also", err).Errs("all", []error{err}).Send()
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("m", "v", v, slog.Any("w", []any{v}))
	}
	return out.String()
}

// hold says which of some secrets a text holds, by their places in the list; eight characters of one are enough, in
// letters or in hexadecimal.
func hold(text string, secrets ...string) (found []int) {
	for i, secret := range secrets {
		for at := 0; at+8 <= len(secret); at++ {
			part := secret[at : at+8]
			if strings.Contains(text, part) || strings.Contains(text, fmt.Sprintf("%x", part)) ||
				strings.Contains(text, fmt.Sprintf("%X", part)) {
				found = append(found, i)
				break
			}
		}
	}
	return found
}

// A link, and whatever holds one, shows neither its token nor its URL, but what it is for.
func TestSecretsLinkIsNotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, vault)
	r.start(vault, "run", nil)
	r.waiting("run", "answer", "never", "proved", "host", "read")
	link := r.link("run", "answer")
	token := strings.TrimPrefix(link.Token.Reveal(), "fhk_")
	url := link.URL.Reveal()
	type holder struct {
		Link    engine.Link
		private engine.Link
		secret  tokens.Secret
	}
	for name, v := range map[string]any{
		"link": link, "pointer": &link, "secret": link.Token, "secret pointer": &link.Token,
		"list": []engine.Link{link}, "map": map[string]any{"a": link.Token, "b": link.URL},
		"holder": holder{link, link, link.Token}, "error": fmt.Errorf("no route to %v, %w", link, &withSecret{link.Token}),
	} {
		text := shown(t, v)
		if found := hold(text, token, strings.TrimPrefix(url, "https://flow.example.com/callbacks/flow/hooks/fhk_")); found != nil {
			t.Errorf("%s shows a secret", name)
		}
		if !strings.Contains(text, tokens.Redacted) {
			t.Errorf("%s does not show that it has a secret: %s", name, text)
		}
	}
	if hold(fmt.Sprint(token), token) == nil || hold(fmt.Sprintf("%x", token), token) == nil {
		t.Error("the search does not find what is there")
	}
}

type withSecret struct{ Secret tokens.Secret }

func (e *withSecret) Error() string { return fmt.Sprintf("secret %s", e.Secret) }
