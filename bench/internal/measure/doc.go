// Package measure makes the measurements: each is a function of a Bench that loads the engine, or the database alone,
// checks what came of it, and adds figures. The engine is used as a host uses it: through its public Go API, and through
// the HTTP gateway.
package measure
