package db

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/spec"
)

// MessageWindow is a part of the inbox, by the numbers of its messages. The zero window is all of it.
type MessageWindow struct{ After, UpTo int64 }

// HeldWindow is the window of the next so many held messages behind one, and how many there are: fewer at the end.
// Errors: ErrUnavailable, *DatabaseError.
func (s *Store) HeldWindow(ctx context.Context, after int64, most int) (w MessageWindow, n int, err error) {
	params := sqlc.HeldMessagesParams{After: after, Most: int64(most)}
	row, err := lookUpOne[sqlc.HeldMessagesRow](ctx, s, sqlc.HeldMessages, params, ErrMessageNotFound)
	return MessageWindow{After: after, UpTo: row.UpTo}, int(row.Messages), err
}

// TakeMessages takes at most so many held messages of a window whose run or hook is there now, or whose deadline has passed, in the
// order they came. For the time of the lease nobody else takes them; what is neither settled nor postponed by then is taken
// again. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) TakeMessages(ctx context.Context, w MessageWindow, most int, lease time.Duration) ([]StoredMessage, error) {
	if w.UpTo == 0 {
		w.UpTo = math.MaxInt64
	}
	params := sqlc.TakeMessagesParams{Lease: lease.Seconds(), After: w.After, UpTo: w.UpTo, Most: int64(most)}
	rows, err := changeRows(ctx, s, sqlc.TakeMessages, params, rowTo[sqlc.TakeMessagesRow])
	if err != nil {
		return nil, err
	}
	taken := make([]StoredMessage, len(rows))
	for i, row := range rows {
		if taken[i], err = messageOf(row.Inbox); err != nil {
			return nil, err
		}
		taken[i].Late = row.Late
	}
	slices.SortFunc(taken, func(a, b StoredMessage) int { return int(a.Row - b.Row) })
	return taken, nil
}

// SettleMessage says what became of a message that was taken: delivered, or dead for a reason. False: it is not this
// taker's any more, or was decided otherwise meanwhile; a delivery is stored whatever was decided. Errors: ErrUnavailable,
// *DatabaseError.
func (s *Store) SettleMessage(ctx context.Context, m StoredMessage, state MessageState, reason string) (bool, error) {
	return s.changesMessage(ctx, sqlc.SettleMessage, sqlc.SettleMessageParams{
		State: string(state), Reason: reason, ID: m.Row, Attempt: int32(m.Attempt),
	})
}

// PostponeMessage gives a message that was taken back, to be taken again after a pause. False: it is not this taker's any
// more. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) PostponeMessage(ctx context.Context, m StoredMessage, pause time.Duration) (bool, error) {
	return s.changesMessage(ctx, sqlc.PostponeMessage, sqlc.PostponeMessageParams{
		Pause: pause.Seconds(), ID: m.Row, Attempt: int32(m.Attempt),
	})
}

// ReplayMessage has a dead message wait again, as long as it was to wait at first and so long at least. False: it is not
// dead. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) ReplayMessage(ctx context.Context, ns spec.Namespace, row int64, least time.Duration, actor string) (bool, error) {
	return s.decideMessage(ctx, sqlc.ReplayMessage, sqlc.ReplayMessageParams{
		Actor: actor, Least: least.Seconds(), ID: row, Namespace: string(ns),
	}, AuditEntry{Namespace: ns, Kind: AuditLetterReplayed, Identity: MessageLetter(row), Actor: actor})
}

// DiscardMessage puts a held or dead message away. False: it is neither, or somebody is delivering it now. Errors:
// ErrUnavailable, *DatabaseError.
func (s *Store) DiscardMessage(ctx context.Context, ns spec.Namespace, row int64, actor string) (bool, error) {
	return s.decideMessage(ctx, sqlc.DiscardMessage, sqlc.DiscardMessageParams{Actor: actor, ID: row, Namespace: string(ns)},
		AuditEntry{Namespace: ns, Kind: AuditLetterDiscarded, Identity: MessageLetter(row), Actor: actor})
}

// SweepMessages deletes at most so many messages that were delivered or discarded so long ago, and says how many. Errors:
// ErrUnavailable, *DatabaseError.
func (s *Store) SweepMessages(ctx context.Context, most int, keep time.Duration) (int, error) {
	params := sqlc.SweepMessagesParams{Keep: keep.Seconds(), Most: int64(most)}
	rows, err := changeRows(ctx, s, sqlc.SweepMessages, params, pgx.RowTo[int64])
	return len(rows), err
}

// MessageLetter is how a message of the inbox is called among dead letters.
func MessageLetter(row int64) string { return "m-" + strconv.FormatInt(row, 10) }

// decideMessage is changesMessage of a decision, which is for the audit trail. The statement returns the run's ID.
func (s *Store) decideMessage(ctx context.Context, sql string, params any, e AuditEntry) (bool, error) {
	rows, err := changeAudited(ctx, s, sql, params, pgx.RowTo[string], func(runs []string) AuditEntry {
		e.RunID = spec.RunID(runs[0])
		return e
	})
	return len(rows) > 0, err
}

func (s *Store) changesMessage(ctx context.Context, sql string, params any) (bool, error) {
	rows, err := changeRows(ctx, s, sql, params, pgx.RowTo[int64])
	return len(rows) > 0, err
}
