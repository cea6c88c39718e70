package mapping

import (
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Whatever rules and message say, what comes out obeys the rules of names and payloads, and comes out again.
func FuzzTarget(f *testing.F) {
	f.Add("order-{/data/order}", "/id", `"/data"`, "/attempt", body, "x")
	f.Add("{/a}-{/b}", "header:x", `{"a":"","b":"{digest}"}`, "/data/tags/0", `{"a":"1","b":"2"}`, "v")
	f.Add("{{{key}}}", "{subject}.{key}", ``, "/a~1b/~0", `[1,"\u00e9",1e3]`, "")
	f.Fuzz(func(t *testing.T, run, id, payload, ignore, body, header string) {
		r := Rules{Namespace: "n", Run: run, Signal: "s", ID: id, Payload: []byte(payload), Ignore: []string{ignore}}
		m, err := Compile(r)
		if err != nil {
			return
		}
		msg := &Message{Header: map[string][]string{"x": {header}}, Key: header, Subject: header, Body: []byte(body)}
		got, err := m.Target(msg, canon.Limits{})
		if err != nil {
			return
		}
		if got.Namespace != "n" || got.Run.Validate() != nil || spec.CheckName("id", Identity("src", got.EventID)) != nil {
			t.Fatalf("got %+v", got)
		}
		if _, err := canon.Parse(got.Payload.Bytes(), canon.Limits{MaxBytes: 4 << 20}); err != nil {
			t.Fatalf("the payload is none: %v", err)
		}
		again, err := m.Target(msg, canon.Limits{})
		if err != nil || !canon.Equal(again.Payload, got.Payload) || again.Run != got.Run || again.EventID != got.EventID {
			t.Fatalf("another target: %v", err)
		}
	})
}
