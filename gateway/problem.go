package gateway

import "github.com/flowgate-go/flowgate/engine"

// problemBase is the address under which each code is explained; with the code it is the type of a problem document.
const problemBase = "https://flowgate.dev/problems/"

// problem is one way to be refused: everything about it that does not depend on the request.
type problem struct {
	code      string
	status    int
	verdict   engine.Verdict
	title     string
	detail    string
	retryable bool // the same request may succeed later
}

// The problems of form: they are found before anything is looked up.
var (
	malformedRequest = &problem{
		code: "malformed-request", status: 400, verdict: engine.VerdictInvalid,
		title: "Malformed request", detail: "The request line or the header fields break a rule of HTTP or repeat a field that may appear once.",
	}
	forbiddenHost = &problem{
		code: "forbidden", status: 403, verdict: engine.VerdictDenied,
		title: "Forbidden", detail: "In dev mode the Host must be a loopback name or the host of the public URL.",
	}
	notFound = &problem{
		code: "not-found", status: 404, verdict: engine.VerdictUnknown,
		title: "Not found", detail: "There is nothing here, or it is not yours to see.",
	}
	methodNotAllowed = &problem{
		code: "method-not-allowed", status: 405, verdict: engine.VerdictInvalid,
		title: "Method not allowed", detail: "The resource does not take this method; the Allow header names those that it takes.",
	}
	requestTimeout = &problem{
		code: "request-timeout", status: 408, verdict: engine.VerdictBusy, retryable: true,
		title: "Request timeout", detail: "The request did not arrive completely within 5 seconds.",
	}
	payloadTooLarge = &problem{
		code: "payload-too-large", status: 413, verdict: engine.VerdictInvalid,
		title: "Payload too large", detail: "The request body is larger than this deployment allows.",
	}
	unsupportedMediaType = &problem{
		code: "unsupported-media-type", status: 415, verdict: engine.VerdictInvalid,
		title: "Unsupported media type", detail: "Send JSON in UTF-8 as application/json or application/*+json, without a Content-Encoding.",
	}
	expectationFailed = &problem{
		code: "expectation-failed", status: 417, verdict: engine.VerdictInvalid,
		title: "Expectation failed", detail: "Send the body without an Expect header.",
	}
	headersTooLarge = &problem{
		code: "headers-too-large", status: 431, verdict: engine.VerdictInvalid,
		title: "Header fields too large", detail: "The request line and the header fields must fit into 16 KiB.",
	}
	malformedPayload = &problem{
		code: "malformed-payload", status: 400, verdict: engine.VerdictInvalid,
		title: "Malformed payload", detail: "The body is not a JSON value that can be kept and compared; violations say why.",
	}
	invalidArgument = &problem{
		code: "invalid-argument", status: 400, verdict: engine.VerdictInvalid,
		title: "Invalid argument", detail: "An identifier, a field or a parameter breaks a rule; violations name it.",
	}
	keyRequired = &problem{
		code: "idempotency-key-required", status: 400, verdict: engine.VerdictInvalid,
		title: "Idempotency key required", detail: "The namespace takes messages only under an ID of the caller's: send it as Idempotency-Key.",
	}
	keyInvalid = &problem{
		code: "idempotency-key-invalid", status: 400, verdict: engine.VerdictInvalid,
		title: "Idempotency key invalid", detail: "An idempotency key must be given once and be 1 to 255 bytes of printable UTF-8 with no space at either end.",
	}
)

// The problems of access.
var (
	unauthorized = &problem{
		code: "unauthorized", status: 401, verdict: engine.VerdictDenied,
		title: "Unauthorized", detail: "The route needs a credential.",
	}
	signatureInvalid = &problem{
		code: "signature-invalid", status: 401, verdict: engine.VerdictDenied,
		title: "Signature invalid", detail: "The request needs a signature of its source, and has none that is valid now.",
	}
	forbidden = &problem{
		code: "forbidden", status: 403, verdict: engine.VerdictDenied,
		title: "Forbidden", detail: "What was presented does not allow this action.",
	}
)

// The problems that the engine decides on.
var (
	runConflict = &problem{
		code: "run-conflict", status: 409, verdict: engine.VerdictConflict,
		title: "Run conflict", detail: "A run of this ID was started otherwise.",
	}
	signalConflict = &problem{
		code: "signal-conflict", status: 409, verdict: engine.VerdictConflict,
		title: "Signal conflict", detail: "A signal of this ID was accepted with other content.",
	}
	updateConflict = &problem{
		code: "update-conflict", status: 409, verdict: engine.VerdictConflict,
		title: "Update conflict", detail: "An update of this ID was accepted with other content.",
	}
	eventConflict = &problem{
		code: "event-conflict", status: 409, verdict: engine.VerdictConflict,
		title: "Event conflict", detail: "An event of this identity is known with other content.",
	}
	hookPayloadConflict = &problem{
		code: "hook-payload-conflict", status: 409, verdict: engine.VerdictConflict,
		title: "Hook payload conflict", detail: "The hook was answered with another payload; that answer stands.",
	}
	hookAlreadyResumed = &problem{
		code: "hook-already-resumed", status: 409, verdict: engine.VerdictConflict,
		title: "Hook already resumed", detail: "The hook was answered and can no longer be withdrawn.",
	}
	pageChangedSince = &problem{
		code: "page-changed", status: 409, verdict: engine.VerdictConflict,
		title: "Page changed", detail: "The page shows something else than what the decision was made on.",
	}
	tokenHostSupplied = &problem{
		code: "token-host-supplied", status: 409, verdict: engine.VerdictConflict,
		title: "Token supplied by the host", detail: "The token of this hook was chosen by workflow code and is not kept, so it cannot be shown.",
	}
	letterDecided = &problem{
		code: "letter-decided", status: 409, verdict: engine.VerdictConflict,
		title: "Dead letter decided", detail: "The dead letter was decided otherwise, or its step has failed in its run's history.",
	}
	hookClosed = &problem{
		code: "hook-closed", status: 410, verdict: engine.VerdictGone,
		title: "Hook closed", detail: "The hook ended without an answer; cause says how.",
	}
	runEnded = &problem{
		code: "run-ended", status: 410, verdict: engine.VerdictGone,
		title: "Run ended", detail: "The run ended and takes no new message.",
	}
	taskClosed = &problem{
		code: "task-closed", status: 410, verdict: engine.VerdictGone,
		title: "Task closed", detail: "The run of this step ended or withdrew it since.",
	}
	signalNotDeclared = &problem{
		code: "signal-not-declared", status: 422, verdict: engine.VerdictInvalid,
		title: "Signal not declared", detail: "The workflow of the run declares no signal of this name.",
	}
	payloadSchema = &problem{
		code: "payload-schema", status: 422, verdict: engine.VerdictInvalid,
		title: "Payload breaks its schema", detail: "The payload breaks the declared schema; violations name the places.",
	}
	updateNotDeclared = &problem{
		code: "update-not-declared", status: 422, verdict: engine.VerdictInvalid,
		title: "Update not declared", detail: "The workflow of the run declares no update of this name.",
	}
	updateRejected = &problem{
		code: "update-rejected", status: 422, verdict: engine.VerdictInvalid,
		title: "Update rejected", detail: "The workflow took the update and refused it; violations say why.",
	}
	updateOrphaned = &problem{
		code: "update-orphaned", status: 410, verdict: engine.VerdictGone,
		title: "Update orphaned", detail: "The run ended before it answered the update; cause says how.",
	}
	queryNotDeclared = &problem{
		code: "query-not-declared", status: 404, verdict: engine.VerdictUnknown,
		title: "Query not declared", detail: "The workflow of the run declares no query of this name.",
	}
	queryRefused = &problem{
		code: "query-refused", status: 422, verdict: engine.VerdictInvalid,
		title: "Query refused", detail: "The workflow has no answer to this argument in this state of the run; violations say why.",
	}
	signalBacklogFull = &problem{
		code: "signal-backlog-full", status: 429, verdict: engine.VerdictBusy, retryable: true,
		title: "Signal backlog full", detail: "The run holds as many unread signals or open updates as it may; send again later.",
	}
)

// The problem of limits.
var rateLimited = &problem{
	code: "rate-limited", status: 429, verdict: engine.VerdictBusy, retryable: true,
	title: "Rate limited", detail: "There were too many of these requests; send it again unchanged after the time in Retry-After.",
}

// The problems that are ours.
var (
	unavailable = &problem{
		code: "unavailable", status: 503, verdict: engine.VerdictBusy, retryable: true,
		title: "Unavailable", detail: "The request could not be served now; send it again unchanged.",
	}
	codeMissing = &problem{
		code: "code-missing", status: 503, verdict: engine.VerdictBusy, retryable: true,
		title: "Code missing", detail: "This process does not have the code of the run's workflow version; another one may, so send the request again.",
	}
	queryTimeout = &problem{
		code: "query-timeout", status: 503, verdict: engine.VerdictBusy, retryable: true,
		title: "Query timeout", detail: "The workflow's code did not answer within its time.",
	}
	queryFailed = &problem{
		code: "query-failed", status: 500, verdict: engine.VerdictBusy, retryable: true,
		title: "Query failed", detail: "The workflow's code is at fault; cause says how.",
	}
	internal = &problem{
		code: "internal", status: 500, verdict: engine.VerdictBusy, retryable: true,
		title: "Internal error", detail: "The request met a fault on this side; its ID leads to the cause in the log.",
	}
)
