package gateway

import (
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

// callbackOperations describe the routes whose credential is in the path, the body or a signature.
var callbackOperations = map[string]operation{
	"GET " + openAPIPattern: {
		id: "description", summary: "This description.", answers: []openapi.Answer{ok(200, "OpenAPI 3.1.", openapi.Any{})},
	},
	"POST /callbacks/flow/hooks/{token}": {
		id: "resumeByToken", summary: "Answer a hook with its token.", body: payload{},
		answers: receipted(202, answer{}), refuses: answeringByToken,
	},
	"POST /callbacks/flow/hooks": {
		id: "resumeByBearer", summary: "Answer a hook with its token as a bearer credential.", body: payload{},
		answers: receipted(202, answer{}), refuses: append([]*problem{notFound}, answeringByToken...),
	},
	"DELETE /callbacks/flow/hooks/{token}": {
		id: "disposeByToken", summary: "Withdraw a hook with its token, where its spec lets that.",
		answers: receipted(200, answer{}), refuses: []*problem{hookAlreadyResumed, hookClosed, forbidden, unauthorized, signatureInvalid},
	},
	"POST " + exchangePattern: {
		id: "exchangeToken", summary: "Make a short-lived token that may do less than a credential (RFC 8693).", body: exchangeBody{}, form: true,
		answers: []openapi.Answer{
			ok(200, "The token.", exchangedToken{}), ok(400, "Refused, in the words of RFC 6749.", exchangeRefused{}),
			ok(401, "The credential is in the wrong place.", exchangeRefused{}),
		},
		refuses: []*problem{notFound},
	},
	"POST /ingress/{source}": {
		id: "receiveEvent", summary: "Take in a signed webhook of a configured source.", body: payload{}, optional: true,
		answers: []openapi.Answer{
			ok(202, "It is durable, or was before.", ingressAnswer{}),
			ok(200, "The same for a source that wants this status; or an answered handshake.", ingressAnswer{}, challengeAnswer{}),
			{Status: 204, About: "The same for a source that wants this status."},
		},
		refuses: []*problem{signatureInvalid, eventConflict},
	},
}

// answeringByToken are the refusals of an answer with a token.
var answeringByToken = []*problem{hookPayloadConflict, hookClosed, payloadSchema, forbidden, unauthorized, signatureInvalid}

// Refusals that messages share.
var (
	startRefusals  = []*problem{runConflict, notFound, payloadSchema}
	signalRefusals = []*problem{signalConflict, runEnded, signalNotDeclared, payloadSchema, signalBacklogFull}
	updateRefusals = []*problem{
		updateConflict, runEnded, updateOrphaned, updateNotDeclared, payloadSchema, updateRejected, signalBacklogFull,
	}
	queryRefusals = []*problem{queryNotDeclared, payloadSchema, queryRefused, queryFailed, queryTimeout, codeMissing}
)

// messageOperations describe signals, updates and queries.
var messageOperations = map[string]operation{
	"POST /v1/runs/{run}/signals/{name}": {
		id: "sendSignal", summary: "Send a signal; the body is the payload.", body: payload{},
		answers: receipted(202, signalAnswer{}), refuses: signalRefusals,
	},
	"GET /v1/runs/{run}/signals/{signal}": {
		id: "showSignal", summary: "A signal's receipt and fate.", answers: shown(signalView{}),
	},
	"POST /v1/runs/{run}/updates/{name}": {
		id: "sendUpdate", summary: "Ask for a change that has a result; the body is the argument.", body: payload{},
		query: []openapi.Parameter{waitParameter}, answers: append(receipted(200, updateAnswer{}), ok(202, "It waits for its answer.", updateAnswer{})),
		refuses: updateRefusals,
	},
	"GET /v1/runs/{run}/updates/{update}": {
		id: "showUpdate", summary: "What became of an update.", query: []openapi.Parameter{waitParameter},
		answers: append(shown(updateView{}), ok(202, "It waits for its answer.", openapi.WithVerdict{Value: updateView{}})),
		refuses: []*problem{updateOrphaned, updateRejected},
	},
	"GET /v1/runs/{run}/queries/{name}": {
		id: "askQuery", summary: "Ask the run a question without an argument.", answers: shown(queryAnswer{}), refuses: queryRefusals,
	},
	"POST /v1/runs/{run}/queries/{name}": {
		id: "askQueryWith", summary: "Ask the run a question; the body is the argument.", body: payload{},
		answers: shown(queryAnswer{}), refuses: queryRefusals,
	},
	"POST /v1/workflows/{workflow}/signal-with-start": {
		id: "signalWithStart", summary: "Start a run, or attach to it, and send it a signal, in one transaction.", body: signalWithStartBody{},
		answers: append(receipted(200, signalStarted{}), ok(201, "The run is started.", signalStarted{})),
		refuses: append(signalRefusals, startRefusals...),
	},
	"POST /v1/workflows/{workflow}/update-with-start": {
		id: "updateWithStart", summary: "Start a run, or attach to it, and send it an update, in one transaction.", body: updateWithStartBody{},
		query: []openapi.Parameter{waitParameter},
		answers: append(
			receipted(200, updateStarted{}), ok(201, "The run is started.", updateStarted{}), ok(202, "The update waits for its answer.", updateStarted{}),
		),
		refuses: append(updateRefusals, startRefusals...),
	},
}
