// Package db is the door to PostgreSQL: the one place where runs are read and changed.
//
// Every change takes the same steps: lock run rows in key order, read what the decision needs by later statements, take
// one time from the database's clock, ask internal/history, append its events, write the rows beside them, commit.
// Accepting (Store.Accept, Store.AcceptTx) judges messages without workflow code. Advancing (Store.Advance) lets the
// caller run workflow code for the runs it claimed. docs/locking.md has the law of locks.
//
// The package owns the statements, the row formats, the translation of SQLSTATE into errors, and the hints between
// processes. It must not know HTTP, tokens, schemas or what workflow code looks like; the generated statements in
// internal/sqlc are not importable from elsewhere. Its exported types use internal ones: it is no API for other modules.
package db
