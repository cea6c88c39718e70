// Package mapping turns a message of the outside world into a message for a run: its namespace, run, signal or hook, its
// identity and its payload, by rules that an operator configured. It owns the small language of those rules and the
// guarantee that two events that differ in what identifies them never share an identity, however their texts join.
//
// A message is an attacker's text even when it is signed: everything it says is checked here for form, nothing of it is
// repeated in an error, and it never chooses the namespace.
//
// The package is pure. It knows nothing of HTTP, signatures, storage or brokers.
package mapping
