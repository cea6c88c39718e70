package gateway

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

var hookParameters = paged(parameter("state", "In this state."), labelParameter, parameter("older_than", "At least so old, such as 24h."))

// hookOperations describe hooks.
var hookOperations = map[string]operation{
	"GET /v1/hooks": {
		id: "listHooks", summary: "List hooks of all runs, the newest first.", query: hookParameters, answers: shown(engine.Page[hookView]{}),
	},
	"GET /v1/runs/{run}/hooks": {
		id: "listHooksOfRun", summary: "List hooks of a run.", query: hookParameters, answers: shown(engine.Page[hookView]{}),
	},
	"GET /v1/runs/{run}/hooks/{hook}": {
		id: "showHook", summary: "One hook, never its token.", answers: shown(hookView{}),
	},
	"POST /v1/runs/{run}/hooks/{hook}/resume": {
		id: "resumeHook", summary: "Answer a hook by its IDs; the body is the payload.", body: payload{},
		answers: receipted(202, answer{}), refuses: []*problem{hookPayloadConflict, hookClosed, payloadSchema},
	},
	"POST /v1/runs/{run}/hooks/{hook}/dispose": {
		id: "disposeHook", summary: "Withdraw a hook by its IDs.",
		answers: receipted(200, answer{}), refuses: []*problem{hookAlreadyResumed, hookClosed},
	},
	"POST /v1/hooks/dispose": {
		id: "disposeByTokenInBody", summary: "Withdraw a hook by its token.", body: disposeBody{},
		answers: receipted(200, answer{}), refuses: []*problem{hookAlreadyResumed, hookClosed, notFound},
	},
	"POST /v1/runs/{run}/hooks/{hook}/token": {
		id: "mintToken", summary: "The link of an open hook, the same one on every call.",
		answers: []openapi.Answer{ok(200, "The link.", mintedToken{})}, refuses: []*problem{tokenHostSupplied, hookAlreadyResumed, hookClosed},
	},
}

// letterOperations describe dead letters.
var letterOperations = map[string]operation{
	"GET /v1/dead-letters": {
		id: "listLetters", summary: "List steps that were given up or, with kind=message, webhooks that wait or could not be delivered.",
		query: paged(
			parameter("kind", "step, which is the default, or message."), parameter("state", "In this state."), parameter("name", "Of a step."),
			parameter("source", "Of messages."), parameter("run", "Of messages."), parameter("reason", "Of messages."),
		),
		answers: []openapi.Answer{ok(
			200, "They are there.",
			openapi.WithVerdict{Value: engine.Page[letterView]{}}, openapi.WithVerdict{Value: engine.Page[messageView]{}},
		)},
	},
	"GET /v1/dead-letters/{letter}": {
		id: "showLetter", summary: "One dead letter.",
		answers: []openapi.Answer{ok(200, "It is there.", openapi.WithVerdict{Value: letterView{}}, openapi.WithVerdict{Value: messageView{}})},
	},
	"POST /v1/dead-letters/{letter}/replay": {
		id: "replayLetter", summary: "Have a held step, or a message, tried again.",
		answers: receipted(202, letterAnswer{}), refuses: []*problem{letterDecided, taskClosed},
	},
	"POST /v1/dead-letters/{letter}/discard": {
		id: "discardLetter", summary: "Let a held step fail; put a letter away.",
		answers: receipted(202, letterAnswer{}), refuses: []*problem{letterDecided, taskClosed},
	},
}
