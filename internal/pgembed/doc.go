// Package pgembed finds, initialises, starts, shares and stops a private PostgreSQL, for dev mode, examples and tests.
//
// It owns one folder per server: the data directory, a Unix socket that no other account can reach, a log and a lock
// file. The server listens on no TCP port and ends when the process that started it ends, however that happens. The
// package runs on Linux and macOS; elsewhere every function says so.
//
// It must not know what the database is used for: no schema, no migration, no query, no import of this module.
package pgembed
