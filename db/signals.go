package db

import (
	"context"
	"errors"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrSignalNotFound: the run has accepted no signal of this ID.
var ErrSignalNotFound = errors.New("signal not found")

// Signal reads the record of an accepted message without a lock. Errors: ErrSignalNotFound, also when there is no such
// run; ErrUnavailable; *DatabaseError.
func (s *Store) Signal(ctx context.Context, run history.RunKey, id spec.SignalID) (history.Signal, error) {
	row, err := lookUpOne[sqlc.Signal](ctx, s, sqlc.ReadSignal, sqlc.ReadSignalParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID), SignalID: string(id),
	}, ErrSignalNotFound)
	if err != nil {
		return history.Signal{}, err
	}
	return signalRecord(row)
}
