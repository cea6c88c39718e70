// Package migrations holds the schema as forward-only goose files, embedded so that every binary can bring its database
// up to date. sqlc reads the same files. It must not know who applies them.
package migrations

import "embed"

// FS holds the migration files at its root.
//
//go:embed *.sql
var FS embed.FS
