package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
)

func TestVerdictOfEveryError(t *testing.T) {
	t.Parallel()
	for want, errs := range map[engine.Verdict][]error{
		engine.VerdictAccepted: {nil},
		engine.VerdictConflict: {
			&engine.RunConflictError{}, &engine.SignalConflictError{}, &engine.HookConflictError{},
			&engine.SpecChangedError{}, engine.ErrTokenNotMinted,
		},
		engine.VerdictGone: {&engine.HookClosedError{}, engine.ErrRunEnded},
		engine.VerdictUnknown: {
			engine.ErrRunNotFound, engine.ErrHookNotFound, engine.ErrTokenNotFound, engine.ErrSignalNotFound,
			engine.ErrWorkflowNotFound,
		},
		engine.VerdictInvalid: {
			&engine.InvalidError{}, &engine.PayloadError{}, &engine.SizeError{}, engine.ErrPayloadTooLarge,
			&engine.SchemaError{}, engine.ErrSignalUndeclared, engine.ErrNoPublicURL,
		},
		engine.VerdictDenied: {engine.ErrDisposeForbidden, engine.ErrSelfApproval, engine.ErrPageForm, &engine.FactorError{}},
		engine.VerdictBusy: {
			engine.ErrBacklogFull, engine.ErrUnavailable, context.Canceled, context.DeadlineExceeded, errors.New("a bug"),
		},
	} {
		for _, err := range errs {
			if got := engine.VerdictOf(err); got != want {
				t.Errorf("%v: %s, want %s", err, got, want)
			}
			if err == nil {
				continue
			}
			if got := engine.VerdictOf(&engine.TxError{Err: fmt.Errorf("wrapped: %w", err)}); got != want {
				t.Errorf("%v wrapped: %s, want %s", err, got, want)
			}
		}
	}
}
