// Package pgfault breaks connections to PostgreSQL at a chosen statement, for tests. It stands between a driver and the
// network, reads the messages that the driver sends (PostgreSQL's frontend/backend protocol 3.0), counts the statements
// among them and does at the nth what was planned: have the server refuse it, lose the connection before or after it, or
// hold it back. The server is a real one and does what it was sent, so what is tested is what happens.
//
// It owns faults of one connection. It must not know a driver, a schema or what the statements mean.
package pgfault
