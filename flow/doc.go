// Package flow writes workflows as straight-line code: a function that waits where it waits, and returns when it is done.
//
//	func Checkout(w *flow.Workflow, in Order) (Receipt, error) {
//		paid, ok, err := flow.WaitForSignalTimeout[Paid](w, "payment", "payment.captured", time.Hour)
//		…
//	}
//
//	eng.Register(CheckoutSpec, flow.Func(Checkout))
//
// It is a layer over the decisions of package engine and no second engine: what the function waits for is one decision,
// and the history is the one that a workflow of decisions would have, event by event.
//
// The function runs on one goroutine. While a turn lasts it stays where it waits and goes on in place with each fact; when
// the turn ends the goroutine is unwound with runtime.Goexit, so that no recover sees it and deferred functions run. The
// next turn runs the function from its beginning: every wait that the history has an answer to returns at once, in the
// order in which the answers were first shown. So the function must be deterministic: no clock but Now, no randomness, no
// I/O, no goroutine, no package state. One that takes another way than the history is found out, and blocks the run with
// words that say where.
//
// Deferred functions therefore run once per turn. While the goroutine is unwound every call of this package is inert: it
// changes nothing, and what would wait ends the goroutine again. What must be undone when the run ends belongs into
// Compensate.
//
// A call from another goroutine ends that goroutine and blocks the run.
//
// IDs name what the function waits for, in the history and for callers. One ID is used once in a generation: in a loop,
// engine.ID("item", i).
package flow
