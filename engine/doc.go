// Package engine is Flowgate as a library: what a workflow author writes against (Context, Decision), what a host calls
// (Engine and its use cases) and what moves runs on (the dispatcher, which calls author code).
//
// A host makes an Engine with New, registers its workflows and calls Run. Use cases work in any process whose Run is
// under way, with or without the code of the workflow: accepting a message and advancing a run are different
// transactions.
//
//	eng, err := engine.New(ctx, engine.Config{Pool: pool, Keys: keys})
//	err = eng.Register(invoice.Spec, invoice.Approval)
//	go eng.Run(ctx)
//	started, err := eng.Start(ctx, engine.StartRequest{Workflow: "billing.invoice-approval", RunID: "invoice-17"})
//
// # Errors
//
// Every error belongs to one of the verdicts that VerdictOf names. Errors are those of the package that decided, under
// names of this package:
//
//	conflict  *RunConflictError, *SignalConflictError, *HookConflictError, *SpecChangedError, ErrTokenNotMinted, ErrPageChanged
//	gone      ErrRunEnded, *HookClosedError
//	unknown   ErrRunNotFound, ErrHookNotFound, ErrTokenNotFound, ErrSignalNotFound, ErrWorkflowNotFound
//	invalid   *InvalidError, *PayloadError, ErrPayloadTooLarge, *SchemaError, ErrSignalUndeclared, ErrNoPublicURL
//	denied    ErrDisposeForbidden, ErrSelfApproval, ErrPageForm, *FactorError
//	busy      ErrBacklogFull, ErrUnavailable and whatever is our own fault
//
// The package must not know SQL, HTTP, or how a message arrived. It reaches the database through package db alone; pgx
// appears only where a host hands in its pool or its own transaction.
package engine
