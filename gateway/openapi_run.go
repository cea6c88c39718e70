package gateway

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

// runOperations describe runs.
var runOperations = map[string]operation{
	"POST /v1/runs": {
		id: "startRun", summary: "Start a run. Without run_id one is made, and a retry starts another run.", body: startBody{},
		answers: append(receipted(200, startedView{}), ok(201, "It is started.", startedView{}, startedBlind{})), refuses: startRefusals,
	},
	"GET /v1/runs": {
		id: "listRuns", summary: "List runs, the newest first.",
		query:   paged(parameter("workflow", "Of this workflow."), parameter("status", "In this status."), labelParameter),
		answers: shown(engine.Page[summaryView]{}),
	},
	"GET /v1/runs/{run}": {
		id: "showRun", summary: "One run.", query: []openapi.Parameter{waitParameter}, answers: shown(runView{}),
	},
	"GET /v1/runs/{run}/history": {
		id: "showHistory", summary: "Its events, the oldest first.",
		query: paged(parameter("generation", "Of this generation; else of the newest.")), answers: shown(historyView{}),
	},
	"GET /v1/runs/{run}/explain": {
		id: "explainRun", summary: "Why it waits, or does not go on.", answers: shown(explainView{}),
	},
	"POST /v1/runs/{run}/cancel": {
		id: "cancelRun", summary: "End a run, or ask its code to.", body: endBody{}, optional: true,
		answers: receipted(202, answer{}), refuses: []*problem{runEnded},
	},
	"POST /v1/runs/{run}/terminate": {
		id: "terminateRun", summary: "End a run at once.", body: endBody{}, optional: true,
		answers: receipted(202, answer{}), refuses: []*problem{runEnded},
	},
	"POST /v1/runs/{run}/retry": {
		id: "retryRun", summary: "Make a blocked run due now.", answers: receipted(202, answer{}), refuses: []*problem{runEnded},
	},
}

// workflowOperations describe workflows.
var workflowOperations = map[string]operation{
	"GET /v1/workflows": {
		id: "listWorkflows", summary: "What runs can be started of.", answers: shown(engine.Page[engine.WorkflowInfo]{}),
	},
	"GET /v1/workflows/{workflow}/interface": {
		id: "showInterface", summary: "What runs of a workflow take and answer.", answers: shown(engine.Interface{}),
	},
}
