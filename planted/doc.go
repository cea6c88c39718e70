// Package planted keeps faults to plant in the program, each with the test that has to catch it: the proof that the
// tests can fail. A file holds one of them: a sentence, the command of the test, and what to replace by what.
//
//	Skips the check for a known signal ID, so that a redelivery is stored twice.
//	file: internal/history/accept.go
//	run: go test ./db -run '^TestRedelivery$' -count=1
//	<<<<
//	the lines as they are
//	====
//	the lines as they would be broken
//	>>>>
//
// make planted plants one after the other, in a copy that only the compiler sees, and wants each of them caught. The
// tests of this package only look whether the faults still fit the program.
package planted
