package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

// PendingReceipt is the receipt of a message that was stored in the host's own transaction. It is void unless the host
// commits: do not show it to anybody before.
type PendingReceipt struct {
	Receipt Receipt
}

// TxError says which request of a call in the host's transaction was refused. It wraps the refusal.
type TxError struct {
	Index int // of the request among those of the call
	Err   error
}

// Error names the request and the refusal.
func (e *TxError) Error() string { return fmt.Sprintf("request %d: %v", e.Index, e.Err) }

// Unwrap returns the refusal.
func (e *TxError) Unwrap() error { return e.Err }

// StartTx starts runs in the host's own transaction, so that they exist exactly if the host's other changes do. Each
// request is judged as by Start. Either all are taken, or the error says which was refused and the transaction holds
// nothing of the call and can go on.
//
// The call locks rows of runs until the host commits, and waits at most 2 s for a lock that another transaction holds.
// It sorts its requests; two calls in one transaction cannot be sorted against each other and may deadlock with another
// transaction that makes the same calls in the other order, so put what belongs together into one call.
//
// Runs go on once a poll finds them, at most 2 s after the commit; call Nudge after it to have them go on at once.
//
// Errors: *TxError around those of Start; ErrUnavailable when a lock was not had.
func (h *Handle) StartTx(ctx context.Context, tx pgx.Tx, reqs ...StartRequest) ([]PendingReceipt, error) {
	return h.e.inTx(ctx, tx, MessageStart, len(reqs), func(ctx context.Context, i int) (history.Message, *Receipt, error) {
		m, err := h.start(reqs[i])
		if err != nil {
			return nil, nil, err
		}
		if refusal := h.e.resolve(ctx, m); refusal != nil {
			receipt, err := h.e.startedBefore(ctx, m, refusal)
			return nil, &receipt, err
		}
		return m, nil, nil
	})
}

// SendSignalTx sends signals in the host's own transaction, under the rules of StartTx. Each request is judged as by
// SendSignal. Signals to a run that the same transaction started go in a later call.
//
// Errors: *TxError around those of SendSignal; ErrUnavailable when a lock was not had.
func (h *Handle) SendSignalTx(ctx context.Context, tx pgx.Tx, reqs ...SignalRequest) ([]PendingReceipt, error) {
	return h.e.inTx(ctx, tx, MessageSignal, len(reqs), func(_ context.Context, i int) (history.Message, *Receipt, error) {
		m, err := h.signal(reqs[i])
		return m, nil, err
	})
}

// inTx forms n messages and stores them under a savepoint of the host's transaction. A request that has its receipt
// already needs no message.
func (e *Engine) inTx(
	ctx context.Context, tx pgx.Tx, kind MessageKind, n int, form func(context.Context, int) (history.Message, *Receipt, error),
) (receipts []PendingReceipt, err error) {
	defer func() { e.figures.receivedInTx(kind, receipts, err) }()
	receipts = make([]PendingReceipt, n)
	var messages []history.Message
	var index []int
	for i := range n {
		m, known, err := form(ctx, i)
		switch {
		case err != nil:
			return nil, &TxError{Index: i, Err: err}
		case known != nil:
			receipts[i].Receipt = *known
		default:
			messages, index = append(messages, m), append(index, i)
		}
	}
	if len(messages) == 0 {
		return receipts, nil
	}
	answers, err := e.storeInTx(ctx, tx, messages)
	var refused *TxError
	if errors.As(err, &refused) {
		refused.Index = index[refused.Index]
	}
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		receipts[index[i]].Receipt = a.Receipt
	}
	return receipts, nil
}

// storeInTx stores all messages or none. Where the door misses specs they are loaded, and all messages are sent again.
func (e *Engine) storeInTx(ctx context.Context, tx pgx.Tx, messages []history.Message) ([]db.Answer, error) {
	ctx = e.withTrace(ctx)
	for range maxResends {
		answers, err := e.attemptInTx(ctx, tx, messages)
		var missing *db.AuthorityMissingError
		if !errors.As(err, &missing) {
			return answers, err
		}
		if err := e.loadAuthority(ctx, missing.Digest); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: the specs of too many workflows are in use at once", ErrUnavailable)
}

// attemptInTx stores the messages under a savepoint, which it rolls back when one of them is refused.
func (e *Engine) attemptInTx(ctx context.Context, tx pgx.Tx, messages []history.Message) ([]db.Answer, error) {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	answers, err := e.store.AcceptTx(ctx, savepoint, messages)
	if err == nil {
		err = firstRefusal(answers)
	}
	if err != nil {
		return nil, undo(ctx, savepoint, err)
	}
	if err := savepoint.Commit(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return answers, nil
}

// undoTime bounds the way back to a savepoint.
const undoTime = time.Second

// undo goes back to the savepoint because of err, also when ctx has ended: else the host might commit what it was told
// was refused. What cannot be undone is ErrUnavailable.
func undo(caller context.Context, savepoint pgx.Tx, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), undoTime)
	defer cancel()
	if failed := savepoint.Rollback(ctx); failed != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(context.Cause(caller), failed))
	}
	return err
}

func firstRefusal(answers []db.Answer) error {
	for i, a := range answers {
		if a.Err != nil {
			return &TxError{Index: i, Err: a.Err}
		}
	}
	return nil
}
