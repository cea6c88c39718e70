package db

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// deadWorkersEvery is how many heartbeats pass after one that found no row of a process that is gone.
const deadWorkersEvery = 30

// Heartbeat says that a process, named uniquely among all, can advance these codes. It holds for 30 seconds. Repeating it
// is how it stays. The first one, and one in a while, also removes a few rows of processes that are gone for a day.
// Errors: ErrUnavailable, *DatabaseError.
func (s *Store) Heartbeat(ctx context.Context, process string, codes []Code) error {
	workflows, versions := codeArrays(codes)
	cleans := s.beats.Add(1)%deadWorkersEvery == 1
	dead := new([]string)
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.settings(s.cfg.LockTimeout)
		p.exec(sqlc.Heartbeat, sqlc.HeartbeatParams{Process: process, Workflows: workflows, Versions: versions})
		if cleans {
			dead = queueValues[string](p, sqlc.DropDeadWorkers, nil)
		}
		return p.send(ctx, conn) // what is sent together, without a BEGIN, is one transaction
	})
	if cleans && (err != nil || len(*dead) > 0) {
		s.beats.Store(0) // there may be more
	}
	return translate(err)
}

// LiveCodes are the codes that some process can advance: those of a heartbeat within 30 seconds, by the database's clock.
// Errors: ErrUnavailable, *DatabaseError.
func (s *Store) LiveCodes(ctx context.Context) (map[Code]bool, error) {
	rows, err := statements.LiveCodes(ctx, s.pool)
	if err != nil {
		return nil, readError(err, nil)
	}
	live := make(map[Code]bool, len(rows))
	for _, row := range rows {
		live[Code{Workflow: row.Workflow, Version: row.Version}] = true
	}
	return live, nil
}

// Leave takes back the heartbeats of a process that ends. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) Leave(ctx context.Context, process string) error {
	return s.change(ctx, func(p *pipeline) { p.exec(sqlc.Leave, sqlc.LeaveParams{Process: process}) })
}
