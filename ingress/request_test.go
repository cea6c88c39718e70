package ingress

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// Who repeats a signed request can change its Content-Type, and must not change by that what it says.
func TestASignedBodyIsReadInOneWay(t *testing.T) {
	t.Parallel()
	at := fmt.Sprint(recordedAt.Unix())
	for preset, sign := range map[string]func(body string) map[string][]string{
		"github": func(body string) map[string][]string {
			return map[string][]string{"x-hub-signature-256": {"sha256=" + hexMAC(firstSecret, body)}}
		},
		"slack": func(body string) map[string][]string {
			return map[string][]string{
				"x-slack-request-timestamp": {at}, "x-slack-signature": {"v0=" + hexMAC(firstSecret, "v0:"+at+":"+body)},
			}
		},
	} {
		c, err := parseOne(`"verify":"` + preset + `",`)
		if err != nil {
			t.Fatal(err)
		}
		read := func(body, kind string) (string, error) {
			r := &Request{Header: sign(body), Body: []byte(body)}
			r.Header["content-type"] = []string{kind}
			in, err := c.sources["it"].read(r, recordedAt)
			return string(in.body), err
		}
		const forged, form = "%7B%22id%22%3A%22forged%22%7D", "application/x-www-form-urlencoded"
		for _, body := range []string{
			`{"id":"e1","title":"a&payload=` + forged + `&b"}`, "\n [\"&payload=" + forged + `&"]`, `"&payload=` + forged + `&"`,
		} {
			if got, err := read(body, "application/json"); err != nil || got != body {
				t.Errorf("%s, JSON: got %s, %v", preset, got, err)
			}
			got, err := read(body, form)
			if _, ok := errors.AsType[*canon.PayloadError](err); !ok || got != "" {
				t.Errorf("%s, JSON that is sent again as a form: got %s, %v", preset, got, err)
			}
		}
		if got, err := read("payload="+forged, form); err != nil || got != `{"id":"forged"}` {
			t.Errorf("%s, a form: got %s, %v", preset, got, err)
		}
	}
}
