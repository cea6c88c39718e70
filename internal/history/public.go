package history

import (
	"encoding/json"
	"fmt"
)

// payloadField is the name under which each carrying kind shows its payload.
var payloadField = map[Type]string{
	TypeRunStarted:     "input",
	TypeRunContinued:   "input",
	TypeRunCompleted:   "output",
	TypeSignalReceived: "payload",
	TypeHookResumed:    "payload",

	TypeStepScheduled:   "input",
	TypeStepCompleted:   "output",
	TypeChildRequested:  "input",
	TypeChildCompleted:  "output",
	TypeSignalRequested: "payload",

	TypeUpdateReceived:  "payload",
	TypeUpdateCompleted: "output",
}

// Public gives an event's data as callers may see it: payloads are part of it, digests are not, and of a hook's token
// only the token ID is.
func Public(e Event) (json.RawMessage, error) {
	stored, err := encodeData(e)
	if err != nil {
		return nil, fmt.Errorf("show event of type %q: %w", e.Data.Type(), err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(stored, &fields); err != nil {
		return nil, fmt.Errorf("show event of type %q: %w", e.Data.Type(), err)
	}
	delete(fields, "digest")
	delete(fields, "grant")
	switch d := e.Data.(type) {
	case *HookCreated:
		fields["token_id"], _ = json.Marshal(d.Grant.Digest.TokenID())
	case *RunContinued:
		delete(fields, "hooks")
		if len(d.Hooks) > 0 {
			fields["hooks"], _ = json.Marshal(carriedIDs(d.Hooks))
		}
	}
	if c, ok := e.Data.(carrier); ok {
		fields[payloadField[e.Data.Type()]] = c.payload().Bytes()
	}
	return json.Marshal(fields)
}

type publicCarried struct {
	ID      string    `json:"hook_id"`
	State   HookState `json:"state"`
	TokenID string    `json:"token_id"`
}

func carriedIDs(hooks []CarriedHook) []publicCarried {
	shown := make([]publicCarried, len(hooks))
	for i, h := range hooks {
		shown[i] = publicCarried{ID: string(h.ID), State: h.State, TokenID: h.Grant.Digest.TokenID()}
	}
	return shown
}
