package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
)

// message is something that a caller wants to happen once, whatever the number of attempts.
type message struct {
	identity
	name    string // of the signal, or of the workflow that is started
	payload json.RawMessage
	token   string // of the hook; empty: it is named by its IDs. It is kept out of the ledger
	bad     bool   // meant to be refused as invalid
}

func startMessage(run, workflow string, in input) message {
	return message{identity: identity{kindStart, run, ""}, name: workflow, payload: encode(in)}
}

func signalMessage(run, name, id, note string) message {
	return message{identity: identity{kindSignal, run, id}, name: name, payload: encode(item{ID: id, Note: note})}
}

func resumeMessage(run, hook, token, by string) message {
	return message{identity: identity{kindResume, run, hook}, token: token, payload: encode(vote{Approved: true, By: by})}
}

func disposeMessage(run, hook, token string) message {
	return message{identity: identity{kindDispose, run, hook}, token: token}
}

func cancelMessage(run string) message { return message{identity: identity{kindCancel, run, ""}} }

// otherwise is another message under the same identity, where it can be one: it must never be acknowledged beside it.
func (m message) otherwise() (message, bool) {
	switch m.kind {
	case kindStart:
		var in input
		mustDecode(m.payload, &in)
		in.Note += "-other"
		m.payload = encode(in)
	case kindSignal:
		m.payload = encode(item{ID: m.id, Note: "another payload"})
	case kindResume:
		m.payload = encode(vote{Approved: false, By: "somebody else"})
	case kindDispose, kindCancel:
		return message{}, false
	}
	return m, true
}

// ask words the message as one of the requests that carry it: with another spelling of its payload, another place of its
// key, another route.
func (m message) ask(rng *rand.Rand) ask {
	payload := respell(m.payload, rng)
	switch m.kind {
	case kindStart:
		body := map[string]any{"workflow": m.name, "run_id": m.run, "input": payload}
		if rng.IntN(2) == 0 {
			body["version"] = workflowVersion
		}
		return ask{method: "POST", path: "/v1/runs", body: encode(body)}
	case kindSignal:
		path := runPath(m.run, "signals", m.name)
		if rng.IntN(2) == 0 {
			return ask{method: "POST", path: path, body: payload, header: http.Header{"Idempotency-Key": {m.id}}}
		}
		return ask{method: "POST", path: path + "?idempotency_key=" + url.QueryEscape(m.id), body: payload}
	case kindResume:
		return m.askHook("resume", payload, rng)
	case kindDispose:
		return m.askHook("dispose", nil, rng)
	case kindCancel:
		return ask{method: "POST", path: runPath(m.run, "cancel")}
	}
	panic("soak: unknown kind " + m.kind)
}

const callbacks = "/callbacks/flow/hooks"

// askHook is a request about a hook, by its token where that is known, else by its IDs.
func (m message) askHook(verb string, payload []byte, rng *rand.Rand) ask {
	way := rng.IntN(3)
	switch {
	case m.token == "" || way == 0:
		return ask{method: "POST", path: runPath(m.run, "hooks", m.id, verb), body: payload}
	case verb == "dispose" && way == 1:
		return ask{method: "DELETE", path: callbacks + "/" + m.token}
	case verb == "dispose":
		return ask{method: "POST", path: "/v1/hooks/dispose", body: encode(map[string]string{"token": m.token})}
	case way == 1:
		return ask{method: "POST", path: callbacks + "/" + m.token, body: payload}
	default:
		return ask{method: "POST", path: callbacks, body: payload, header: http.Header{"Authorization": {"Bearer " + m.token}}}
	}
}

// respell writes the same JSON value in another way now and then.
func respell(payload json.RawMessage, rng *rand.Rand) json.RawMessage {
	var out bytes.Buffer
	if len(payload) == 0 || rng.IntN(4) > 0 || json.Indent(&out, payload, " ", "\t") != nil {
		return payload
	}
	return out.Bytes()
}

// encode is JSON of a value that always has one.
func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// mustDecode reads JSON that this program wrote.
func mustDecode(text []byte, v any) {
	if err := json.Unmarshal(text, v); err != nil {
		panic(err)
	}
}
