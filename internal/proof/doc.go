// Package proof is what the engine is compared with: one vocabulary of operations, a model that does them in memory, an
// oracle that knows the table of verdicts, and a checker of what many callers were told at the same time.
//
// It owns the words of traces and what must be true of answers and histories. It must not know the engine, the database
// or a clock: drivers of those belong to the tests that use them.
package proof
