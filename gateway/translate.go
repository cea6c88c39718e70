package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// sentinels gives each refusal of the engine that carries no data its problem.
var sentinels = []struct {
	err     error
	problem *problem
}{
	{engine.ErrRunNotFound, notFound},
	{engine.ErrHookNotFound, notFound},
	{engine.ErrTokenNotFound, notFound},
	{engine.ErrSignalNotFound, notFound},
	{engine.ErrUpdateNotFound, notFound},
	{engine.ErrUpdateUndeclared, updateNotDeclared},
	{engine.ErrWorkflowNotFound, notFound},
	{engine.ErrQueryUndeclared, queryNotDeclared},
	{engine.ErrLetterNotFound, notFound},
	{engine.ErrLetterDecided, letterDecided},
	{engine.ErrTaskClosed, taskClosed},
	{engine.ErrRunEnded, runEnded},
	{engine.ErrSignalUndeclared, signalNotDeclared},
	{engine.ErrDisposeForbidden, forbidden},
	{engine.ErrSelfApproval, forbidden},
	{engine.ErrPageForm, forbidden},
	{engine.ErrPageChanged, pageChangedSince},
	{engine.ErrPayloadTooLarge, payloadTooLarge},
	{engine.ErrBacklogFull, signalBacklogFull},
	{engine.ErrTokenNotMinted, tokenHostSupplied},
	{engine.ErrUnavailable, unavailable},
	{engine.ErrCodeMissing, codeMissing},
	{access.ErrUnavailable, unavailable},
	// A use case that outlives its time is our slowness, never the caller's mistake.
	{context.DeadlineExceeded, unavailable},
	{context.Canceled, unavailable},
	// Links cannot be made before the operator configures their base.
	{engine.ErrNoPublicURL, internal},
}

// translate is the one border where an error of a use case becomes an answer. What it does not know is a fault here.
func translate(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if r := translateTyped(err); r != nil {
		return r
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			r := refuse(s.problem)
			if s.problem.status >= 500 {
				r.fault = err
			}
			return r
		}
	}
	return &refusal{problem: internal, fault: err}
}

// translateTyped translates the refusals that carry data. They name fields and rules, never values.
func translateTyped(err error) *refusal {
	if e, ok := errors.AsType[*spec.InvalidError](err); ok {
		return refuseAt(invalidArgument, e.Field, e.Rule)
	}
	if e, ok := errors.AsType[*engine.PayloadError](err); ok {
		return &refusal{problem: malformedPayload, violations: []violation{{FieldPath: e.Pointer, Message: e.Rule}}}
	}
	if e, ok := errors.AsType[*engine.SchemaError](err); ok {
		return &refusal{problem: payloadSchema, violations: schemaViolations(e)}
	}
	if e, ok := errors.AsType[*engine.RunConflictError](err); ok {
		return &refusal{problem: runConflict, differs: e.Differs}
	}
	if e, ok := errors.AsType[*engine.SignalConflictError](err); ok {
		return &refusal{problem: signalConflict, differs: e.Differs}
	}
	if e, ok := errors.AsType[*engine.HookConflictError](err); ok {
		return &refusal{problem: hookConflictProblem(e), differs: e.Differs}
	}
	if _, ok := errors.AsType[*engine.FactorError](err); ok {
		return &refusal{problem: unauthorized, challenge: challengeBearer}
	}
	if e, ok := errors.AsType[*engine.HookClosedError](err); ok {
		return &refusal{problem: hookClosed, cause: string(e.Cause)}
	}
	if r := translateUpdate(err); r != nil {
		return r
	}
	return translateQuery(err)
}

// translateUpdate translates what becomes of an update. The workflow's own words are for callers.
func translateUpdate(err error) *refusal {
	if e, ok := errors.AsType[*engine.UpdateConflictError](err); ok {
		return &refusal{problem: updateConflict, differs: e.Differs}
	}
	if e, ok := errors.AsType[*engine.UpdateRejectedError](err); ok {
		return &refusal{problem: updateRejected, violations: []violation{{Message: e.Reason}}}
	}
	if e, ok := errors.AsType[*engine.UpdateOrphanedError](err); ok {
		return &refusal{problem: updateOrphaned, cause: string(e.Cause)}
	}
	return nil
}

// translateQuery translates what the handler of a query does. Its own words are for callers, as a run's failure is.
func translateQuery(err error) *refusal {
	if e, ok := errors.AsType[*engine.QueryRefusedError](err); ok {
		return &refusal{problem: queryRefused, violations: []violation{{Message: e.Reason}}}
	}
	if e, ok := errors.AsType[*engine.QueryFailedError](err); ok {
		p := queryFailed
		if e.Fault == engine.QueryOverBudget {
			p = queryTimeout
		}
		return &refusal{problem: p, cause: string(e.Fault), fault: err}
	}
	return nil
}

// hookConflictProblem tells another answer from the wish to withdraw an answered hook.
func hookConflictProblem(e *engine.HookConflictError) *problem {
	if slices.Contains(e.Differs, "payload") {
		return hookPayloadConflict
	}
	return hookAlreadyResumed
}

func schemaViolations(e *engine.SchemaError) []violation {
	out := make([]violation, 0, len(e.Violations))
	for _, v := range e.Violations {
		out = append(out, violation{FieldPath: v.Pointer, Message: v.Message})
	}
	return out
}
