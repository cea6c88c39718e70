package db

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// pipeline is a list of generated statements that go to the server in one round trip. It is sent once.
type pipeline struct {
	batch pgx.Batch
	ends  bool // holds a COMMIT: if the connection is lost, nobody knows whether it took effect
}

// errNotCommitted says that the server answered COMMIT with a rollback.
var errNotCommitted = errors.New("transaction was rolled back at its commit")

// begin opens a transaction. No statement in it waits for a lock longer than lockTimeout, nor runs much longer.
func (p *pipeline) begin(lockTimeout time.Duration) {
	p.batch.Queue("begin isolation level read committed read write")
	p.settings(lockTimeout)
}

// settings bound the statements that follow in the transaction and keep them on the keys.
func (p *pipeline) settings(lockTimeout time.Duration) {
	p.exec(sqlc.SetTimeouts, sqlc.SetTimeoutsParams{
		LockTimeout:      milliseconds(lockTimeout),
		StatementTimeout: milliseconds(lockTimeout + statementTime),
	})
}

func (p *pipeline) commit() {
	p.ends = true
	p.batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return errNotCommitted
		}
		return nil
	})
}

// exec queues a statement without an answer. params is the generated struct, nil for a statement without parameters.
func (p *pipeline) exec(sql string, params any) {
	p.batch.Queue(sql, arguments(params)...)
}

// queueRows queues a statement whose rows have the fields of the generated struct R, in order. The slice is filled once
// the pipeline was sent.
func queueRows[R any](p *pipeline, sql string, params any) *[]R {
	return queue(p, sql, params, pgx.RowToStructByPos[R])
}

// queueValues queues a statement whose rows have one column. The slice is filled once the pipeline was sent.
func queueValues[T any](p *pipeline, sql string, params any) *[]T {
	return queue(p, sql, params, pgx.RowTo[T])
}

func queue[R any](p *pipeline, sql string, params any, read pgx.RowToFunc[R]) *[]R {
	out := new([]R)
	p.batch.Queue(sql, arguments(params)...).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, read)
		return err
	})
	return out
}

// connection is what statements are sent on: a connection, or an open transaction of the host.
type connection interface {
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

// send sends the statements and reads every answer. At the first error the server skips the rest. Errors: those of sent.
func (p *pipeline) send(ctx context.Context, on connection) error {
	return sent(on.SendBatch(ctx, &p.batch).Close(), on, p.ends)
}

// sent tells what became of statements: the server's error; *connectionError when the connection is gone, which says
// whether a COMMIT was under way; *DatabaseError for what the driver refuses.
func sent(err error, on connection, committing bool) error {
	switch pg, fromServer := errors.AsType[*pgconn.PgError](err); {
	case err == nil:
		return nil
	case fromServer && pg.SeverityUnlocalized != "FATAL" && pg.SeverityUnlocalized != "PANIC":
		return err
	case fromServer, closed(on):
		return &connectionError{cause: err, committing: committing}
	}
	return &DatabaseError{cause: err}
}

// closed says that the connection cannot be used again: the driver closes one that it cannot bring back into step.
func closed(on connection) bool {
	switch on := on.(type) {
	case *pgx.Conn:
		return on.IsClosed()
	case pgx.Tx:
		return on.Conn().IsClosed()
	}
	return false
}

// arguments lists the fields of a generated parameter struct: its field i is the statement's parameter i+1.
func arguments(params any) []any {
	if params == nil {
		return nil
	}
	v := reflect.ValueOf(params)
	args := make([]any, v.NumField())
	for i := range args {
		args[i] = v.Field(i).Interface()
	}
	return args
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
