// Package proof is what the engine is compared with: one vocabulary of operations, a model that does them in memory, an
// oracle that knows the table of verdicts, laws of histories, and a checker of what many callers were told at the same time.
//
// Traces speak of signals, updates, hooks, waits, timers, steps, generations, cancelling, broken code, time and restarts. What
// an attempt of a step comes to is a function of its input and its number (Do), so that the model knows it, too; Attempts
// watches which are made. Children and calls between runs are not in traces: faults at every statement, duels of transactions
// and the formal models are what shows those. Nor are held steps replayed or discarded.
//
// It owns the words of traces and what must be true of answers and histories. It must not know the engine, the database
// or a clock: drivers of those belong to the tests that use them.
package proof
