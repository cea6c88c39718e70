package db

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// History reads a page of a run's events in order of seq, without a lock: those of one generation, 0 being the newest,
// with seqs after the one given. limit is at most 1,000, default 50. A generation that the run never had is empty.
// Errors: history.ErrRunNotFound; *history.DecodeError; ErrUnavailable, also for events that a newer program wrote;
// *DatabaseError.
func (s *Store) History(ctx context.Context, run history.RunKey, generation int, after int64, limit int) ([]history.Event, error) {
	if generation < 0 || generation > math.MaxInt32 {
		return nil, s.known(ctx, run)
	}
	rows, err := lookUp[sqlc.Event](ctx, s, sqlc.PageEvents, sqlc.PageEventsParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID), Generation: int32(generation),
		After: min(max(after, 0), math.MaxInt64-1), Count: int64(pageSize(limit)),
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, s.known(ctx, run)
	}
	events := make([]history.Event, len(rows))
	for i, row := range rows {
		switch events[i], err = eventOf(row); {
		case errors.Is(err, history.ErrNewerEvent):
			return nil, unavailable(err) // not here: a process of that version shows it
		case err != nil:
			return nil, err
		}
	}
	return events, nil
}

// known returns history.ErrRunNotFound for a run that does not exist.
func (s *Store) known(ctx context.Context, run history.RunKey) error {
	_, err := lookUpOne[sqlc.Run](ctx, s, sqlc.ReadRun, sqlc.ReadRunParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID),
	}, history.ErrRunNotFound)
	return err
}

// State folds the current generation of a run from its events, without a lock and without the cache, and returns its
// record as of the same instant. Errors: history.ErrRunNotFound; *history.DecodeError and *history.FoldError for a damaged
// history; ErrUnavailable; *DatabaseError.
//
// What it costs grows with the generation, and anybody who may read may ask: at most half of the pool's connections do this
// at a time, so that messages and turns find one. Others wait, as long as for a connection.
func (s *Store) State(ctx context.Context, run history.RunKey) (*history.State, history.Run, error) {
	waiting, cancel := context.WithTimeout(ctx, transactionTime)
	defer cancel()
	select {
	case s.folding <- struct{}{}:
		defer func() { <-s.folding }()
	case <-waiting.Done():
		return nil, history.Run{}, unavailable(waiting.Err())
	}
	r := &claimedRun{}
	err := s.transact(ctx, transactionTime, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.snapshot()
		p.settings(s.cfg.LockTimeout)
		rows := queueRows[sqlc.Run](p, sqlc.ReadRun, sqlc.ReadRunParams{
			Namespace: string(run.Namespace), RunID: string(run.RunID),
		})
		events := queueRows[sqlc.Event](p, sqlc.GenerationEvents, sqlc.GenerationEventsParams{
			Namespace: string(run.Namespace), RunID: string(run.RunID),
		})
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		if len(*rows) == 0 {
			return history.ErrRunNotFound
		}
		record, err := runRecord((*rows)[0])
		if err != nil {
			return err
		}
		r.storedRun = storedRun{ID: (*rows)[0].ID, Run: record}
		c := &claim{store: s, conn: conn}
		return c.fold(ctx, []*claimedRun{r}, *events)
	})
	if err == nil {
		err = r.err
	}
	if err != nil {
		return nil, history.Run{}, translate(err)
	}
	return r.state, r.Run, nil
}

// snapshot opens a transaction that reads one instant and writes nothing.
func (p *pipeline) snapshot() { p.batch.Queue("begin isolation level repeatable read read only") }
