package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/flowgate-go/flowgate/migrations"
)

// migrateWait is how often, once a second, a process asks for the migration lock while another one migrates.
const migrateWait = 120

const (
	// migrateAttempts is how often a migration is tried that does not get a lock because of processes at work.
	migrateAttempts = 30
	// migratePause is the rest between two attempts.
	migratePause = time.Second
)

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
	for attempt := 1; ; attempt++ {
		_, err = provider.Up(ctx)
		if err == nil || !locked(err) || attempt == migrateAttempts {
			break
		}
		rest(ctx, migratePause)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// locked says that a statement did not get a lock in time: processes at work held it.
func locked(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "55P03" || pg.Code == "40P01")
}
