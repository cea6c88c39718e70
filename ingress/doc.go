// Package ingress takes in signed webhooks: it verifies a request over its raw bytes, maps what it says to a message for a
// run, and gives that to the inbox. It owns the file in which sources are configured, the ways that providers sign, and
// what becomes of an event: delivered, a duplicate, a conflict, held, or ignored.
//
// Whoever may write the file may already do what it says. A request is a stranger's text until it is verified, and a
// provider's text after that: nothing of it is in an error or a log, and it chooses neither namespace nor source.
//
// The clock is a parameter. The package knows nothing of HTTP servers and SQL.
package ingress
