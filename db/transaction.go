package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// statementTime is what a statement may take beside waiting for a lock.
	statementTime = 2 * time.Second
	// transactionTime bounds a transaction from taking a connection to its end, beside waiting for locks.
	transactionTime = 2500 * time.Millisecond
	// rollbackTime bounds the end of a transaction that failed; then the connection is closed, which ends it too.
	rollbackTime = time.Second
)

// transact gives fn a connection on which its first pipeline begins and its last one commits a transaction. What is
// still open when fn returns is rolled back. The transaction is nobody's call: it does not end with ctx, which lends its
// values only, but after limit. A connection in an unknown state is closed. Errors are the driver's, but for
// ErrUnavailable when no connection could be had.
func (s *Store) transact(ctx context.Context, limit time.Duration, fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		s.figures.failed(unavailable(err))
		return unavailable(err)
	}
	defer release(ctx, conn)
	err = fn(ctx, conn.Conn())
	s.figures.failed(err)
	return err
}

// release ends what is open on a connection and returns it; the pool closes one that is not idle.
func release(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		_ = conn.Conn().Close(ctx)
	}
}
