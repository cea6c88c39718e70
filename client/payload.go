package client

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode is JSON without HTML escapes. What is RawMessage in it must be JSON.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, &Problem{
			Code: "malformed-payload", Title: "Malformed payload", Detail: "What should be sent is no JSON; nothing was sent.",
			Verdict: Invalid,
		}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// JSON is the payload of a Go value. Error: the value has no JSON.
func JSON(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("make a payload: %w", err)
	}
	return text, nil
}

// payload is the body of a message: without one it is null.
func payload(given json.RawMessage) []byte {
	if len(given) == 0 {
		return []byte("null")
	}
	return given
}
