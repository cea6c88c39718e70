package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// gaugeCap bounds what one gauge counts: one more than it says that there are more.
	gaugeCap = 100_000
	// gaugeStatementTime bounds a statement of them; their caller bounds all.
	gaugeStatementTime = 400 * time.Millisecond
)

// Gauges are figures of all that a database holds, of all namespaces. No count goes above 100,001, which stands for more
// than 100,000. The words of maps are of fixed sets, but for the IDs of keys.
type Gauges struct {
	HooksActive   int64
	HooksOverdue  int64         // active although their time is over: the turns that close them have not come
	HookOldestAge time.Duration // of the active ones that were counted
	SignalsUnread int64         // of the newest 100,001 runs, those under way
	Runs          map[string]int64
	Blocked       map[string]int64 // runs by the cause
	WithoutCode   int64            // runs that are due, of codes that no live process has
	DueOldestAge  time.Duration    // of what is due, of codes that a live process has
	Letters       map[string]int64 // of the newest 100,001 dead letters of steps, by state
	Inbox         map[string]int64 // messages that are held or dead
	HooksByKey    map[string]int64 // all hooks, by the ID of the key of their token's digest
	ClockAhead    time.Duration    // of the database's clock, of this process's; what the network takes makes it inexact
}

// Gauges reads them, on a connection of its own that is closed then: a pool without a free connection is no reason to know
// nothing. Its cost is bounded whatever the tables hold; ask a few times a minute. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) Gauges(ctx context.Context) (Gauges, error) {
	conn, err := pgx.ConnectConfig(ctx, s.notify.config.Copy())
	if err != nil {
		return Gauges{}, unavailable(err)
	}
	defer s.notify.close(conn)
	before := s.cfg.Clock()
	p := &pipeline{}
	clock := queueValues[time.Time](p, sqlc.Clock, nil)
	if err := p.send(ctx, conn); err != nil {
		return Gauges{}, readError(err, nil)
	}
	onTheWay := s.cfg.Clock().Sub(before)
	g, err := s.readGauges(ctx, conn)
	g.ClockAhead = (*clock)[0].Sub(before.Add(onTheWay / 2))
	return g, err
}

func (s *Store) readGauges(ctx context.Context, conn *pgx.Conn) (Gauges, error) {
	const most = gaugeCap + 1
	p := &pipeline{}
	p.exec(sqlc.SetTimeouts, sqlc.SetTimeoutsParams{
		LockTimeout: milliseconds(gaugeStatementTime), StatementTimeout: milliseconds(gaugeStatementTime),
	})
	hooks := queueRows[sqlc.GaugeHooksRow](p, sqlc.GaugeHooks, sqlc.GaugeHooksParams{Most: most})
	runs := queueRows[sqlc.GaugeRunsRow](p, sqlc.GaugeRuns, sqlc.GaugeRunsParams{Most: most})
	blocked := queueRows[sqlc.GaugeBlockedRow](p, sqlc.GaugeBlocked, sqlc.GaugeBlockedParams{Most: most})
	due := queueRows[sqlc.GaugeDueRow](p, sqlc.GaugeDue, sqlc.GaugeDueParams{Most: most})
	letters := queueRows[sqlc.GaugeLettersRow](p, sqlc.GaugeLetters, sqlc.GaugeLettersParams{Most: most})
	inbox := queueRows[sqlc.GaugeInboxRow](p, sqlc.GaugeInbox, sqlc.GaugeInboxParams{Most: most})
	keys := queueRows[sqlc.GaugeKeysRow](p, sqlc.GaugeKeys, sqlc.GaugeKeysParams{Most: most})
	if err := p.send(ctx, conn); err != nil {
		return Gauges{}, readError(err, nil)
	}
	g := Gauges{
		HooksActive: (*hooks)[0].Active, HooksOverdue: (*hooks)[0].Overdue, HookOldestAge: seconds((*hooks)[0].OldestAge),
		WithoutCode: (*due)[0].WithoutCode, DueOldestAge: seconds((*due)[0].OldestAge),
		Runs: zeros(history.Running, history.Blocked, history.Completed, history.Failed, history.Cancelled),
		Blocked: zeros(
			history.BlockError, history.BlockPanic, history.BlockBudget, history.BlockNonDeterminism, history.BlockNoProgress,
			history.BlockDecision, history.BlockHistory,
		),
		Letters:    zeros(history.LetterHeld, history.LetterFailed, history.LetterReplayed, history.LetterDiscarded),
		Inbox:      zeros(MessageHeld, MessageDead),
		HooksByKey: map[string]int64{},
	}
	for _, r := range *runs {
		g.Runs[r.Status] = r.Runs
		if !history.Status(r.Status).Ended() {
			g.SignalsUnread += r.Unread
		}
	}
	fill(g.Blocked, *blocked, func(r sqlc.GaugeBlockedRow) (string, int64) { return r.Cause, r.Runs })
	fill(g.Letters, *letters, func(r sqlc.GaugeLettersRow) (string, int64) { return r.State, r.Letters })
	fill(g.Inbox, *inbox, func(r sqlc.GaugeInboxRow) (string, int64) { return r.State, r.Messages })
	fill(g.HooksByKey, *keys, func(r sqlc.GaugeKeysRow) (string, int64) { return r.DigestKey, r.Hooks })
	return g, nil
}

func fill[R any](to map[string]int64, rows []R, of func(R) (string, int64)) {
	for _, r := range rows {
		word, n := of(r)
		to[word] = n
	}
}

// zeros has each of the words, for which there may be no row.
func zeros[W ~string](words ...W) map[string]int64 {
	all := map[string]int64{}
	for _, w := range words {
		all[string(w)] = 0
	}
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
