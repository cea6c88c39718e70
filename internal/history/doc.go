// Package history is the pure core: the events of a run, the state that is their fold, and every rule that decides what
// may be appended next. Its functions take (state or record, input, now) and return events or a named refusal.
//
// Two halves share its records. Accepting (Records) judges one message against rows and never loads a history. Advancing
// (Turn) folds a generation, settles one fact at a time and turns the decision of workflow code into events.
//
// The package must not know who stores events, who calls author code, or how messages arrive. It uses no context, clock,
// randomness, SQL or goroutine.
package history
