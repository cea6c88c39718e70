package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/flowgate-go/flowgate/migrations"
)

// migrateWait is how often, once a second, a process asks for the migration lock while another one migrates.
const migrateWait = 120

// Migrate brings the database behind url to the schema of this binary and closes its connections. It is idempotent, and
// any number of processes may call it at once: one migrates, the others wait for up to two minutes. Errors:
// ErrUnavailable, or what the migration says.
func Migrate(ctx context.Context, url string) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database URL: %w", err) // pgx leaves the password out
	}
	handle := stdlib.OpenDB(*cfg)
	defer handle.Close()
	if err := handle.PingContext(ctx); err != nil {
		return translate(err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, migrateWait))
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, handle, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
