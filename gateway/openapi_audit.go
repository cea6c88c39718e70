package gateway

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

// auditParameters are those of the audit trail, after its own.
func auditParameters(own ...openapi.Parameter) []openapi.Parameter {
	return paged(append(
		own, parameter("kind", "Of this kind."), parameter("verdict", "With this verdict."), parameter("since", "Not before this time (RFC 3339)."),
	)...)
}

// auditOperations describe the audit trail.
var auditOperations = map[string]operation{
	"GET /v1/audit": {
		id: "listAudit", summary: "The audit trail, the newest entry first.", query: auditParameters(parameter("run", "Of this run.")),
		answers: shown(engine.Page[auditView]{}), refuses: []*problem{notFound},
	},
	"GET /v1/runs/{run}/audit": {
		id: "listAuditOfRun", summary: "The audit trail of a run.", query: auditParameters(), answers: shown(engine.Page[auditView]{}),
	},
}
