// Package enginetest drives one run of a workflow in a test: no database, a virtual clock, and the same rules, turns and
// executor as an Engine, in its development mode, which calls the function twice on the first round of a turn and blocks
// on unequal decisions.
//
//	run := enginetest.New(t, invoice.Spec, invoice.Approval)
//	run.Start(invoice.Input{Number: 17})
//	run.Signal("invoice.approved", invoice.Approval{Reviewer: "ada"})
//	run.Output(&result)
//
// Every step lets the run go on until it is quiet. A step that is refused, and a run that is blocked afterwards, fail the
// test with the history, unless the test says that it expects them.
package enginetest
