// Package inbox gives messages of the outside world to runs, and keeps those that no run can be given yet: until their run or
// hook is there, or until their deadline has passed. What cannot be delivered lies among the dead letters, until somebody
// replays or discards it.
//
// A message is delivered by an ordinary call of the engine under its own identity, so delivering at least once is exactly
// once in effect. Rows of the inbox are no projection of events: they are the only record of a message until a run has it.
// So nothing verifies them, and a 2xx for a message that is held is as durable as one for a message that a run has.
//
// The package knows nothing of HTTP, signatures and brokers. Clock and randomness are parameters; deadlines are those of the
// database's clock.
package inbox
