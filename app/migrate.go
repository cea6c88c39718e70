package app

import (
	"context"
	"fmt"

	"github.com/flowgate-go/flowgate/db"
)

// migrateCommand brings the schema up to date.
type migrateCommand struct{ databaseSetting }

// Run implements the command. It is idempotent, and any number of processes may run it at once.
func (c migrateCommand) Run(ctx context.Context, in invocation) error {
	if err := c.required(); err != nil {
		return err
	}
	if err := db.Migrate(ctx, c.DatabaseURL); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, err := fmt.Fprintln(in.stdout, "the database has the schema of this program")
	return err
}
