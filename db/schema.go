package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/flowgate-go/flowgate/migrations"
)

// ErrSchemaBehind says that the database lacks migrations that this binary has: Migrate applies them.
var ErrSchemaBehind = errors.New("the database schema is behind this program")

// undefinedTable is the SQLSTATE of a database that was never migrated.
const undefinedTable = "42P01"

// CheckSchema says whether the database behind url has the schema of this binary, or a newer one: schemas only move
// forward, and an older binary goes on working beside a newer one. It changes nothing. Errors: ErrSchemaBehind,
// ErrUnavailable.
func CheckSchema(ctx context.Context, url string) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database URL: %w", err) // pgx leaves the password out
	}
	handle := stdlib.OpenDB(*cfg)
	defer handle.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, handle, migrations.FS)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	known := provider.ListSources()
	// The provider's own question would make the table that it asks.
	applied, err := database.NewStore(goose.DialectPostgres, goose.DefaultTablename)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	version, err := applied.GetLatestVersion(ctx, handle)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		return ErrSchemaBehind
	}
	switch {
	case errors.Is(err, database.ErrVersionNotFound):
		return ErrSchemaBehind
	case err != nil:
		return translate(err)
	case version < known[len(known)-1].Version:
		return ErrSchemaBehind
	}
	return nil
}
