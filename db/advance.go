package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	// soleLockTimeout is how long AdvanceOne waits for its run.
	soleLockTimeout = 500 * time.Millisecond
	// stallTime is how long a run rests whose turn failed for a reason that passes, corruptTime one that can neither be
	// advanced nor blocked.
	stallTime   = time.Second
	corruptTime = 5 * time.Minute
)

// Fate is what becomes of a turn.
type Fate int

const (
	// Commit stores the outcome.
	Commit Fate = iota
	// Drop stores nothing: the run stays due, and its state is not used again.
	Drop
	// Leave stores nothing and says that the state was not touched: the run stays due.
	Leave
)

// Advance asks for turns of due runs.
type Advance struct {
	Codes []Code        // only runs of these are looked at
	Limit int           // runs of one transaction, at least 1
	Grace time.Duration // runs that are due for less are left to AdvanceHanded
	// Decide runs one turn. It is called for one run after the other on the caller's goroutine, while the rows are locked,
	// so it must bound its time. The state is its own: it may change it, and keep it when it returns Drop. rejected names
	// the hooks of this run that were refused when the same turn was decided a moment ago; the state is a fresh one then.
	Decide func(run history.Run, state *history.State, now time.Time, rejected map[spec.HookID]history.Rejection) (history.Outcome, Fate)
}

// Advanced says what an advance did. It holds nothing that was not committed.
type Advanced struct {
	Claimed   int             // due runs that were locked
	Committed int             // of those, runs whose outcome is stored
	Full      bool            // more is due at once: ask again
	NextDue   *time.Time      // when a run of these codes is due next, or was and is locked; nil when none is
	LookIn    time.Duration   // ask again by then, for due times that this claim did not look at; zero when it looked at all
	Ahead     time.Duration   // how far the database's clock, which NextDue is of, is ahead of this process's
	Skipped   *history.RunKey // a run that another transaction had locked and that is due for 200 ms: give it to AdvanceOne
	Failed    []FailedTurn    // runs whose turn could not be read or stored; they were blocked or rest for a while
}

// FailedTurn is a run whose turn could not be read or stored.
type FailedTurn struct {
	Run history.RunKey
	Err error
}

// Advance claims due runs, oldest first, in one transaction, lets Decide run a turn of each and stores the outcomes. Runs
// that another transaction has locked are left out. A run that spoils the transaction is found by advancing each run
// alone; it fails by itself, and is blocked when its own rows or events are the reason. Errors: ErrUnavailable and
// *DatabaseError; nothing more than Advanced says was done then.
func (s *Store) Advance(ctx context.Context, a Advance) (Advanced, error) {
	if len(a.Codes) == 0 {
		return Advanced{}, nil
	}
	c := &claim{store: s, Advance: a}
	defer c.over()
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, c.due)
	if err == nil {
		return s.publishTurns(ctx, c), nil
	}
	s.letGo(c.runs, err)
	s.floors.resetAll() // it did not look where it was to
	if len(c.runs) == 0 || !worthAlone(err) {
		return Advanced{}, translate(err)
	}
	return s.advanceEach(ctx, a, c)
}

// NextDue says in how long, by the database's clock, something of these codes is due, be it locked or not; nothing due is
// ages away. It is one statement, for whoever has nothing else to do, and changes nothing. Errors: ErrUnavailable,
// *DatabaseError.
func (s *Store) NextDue(ctx context.Context, codes []Code) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, transactionTime)
	defer cancel()
	workflows, versions := codeArrays(codes)
	rows, err := statements.NextDue(ctx, replanned{s.pool}, sqlc.NextDueParams{Workflows: workflows, Versions: versions})
	if err != nil {
		return 0, readError(err, nil)
	}
	return rows[0].FirstDue.Sub(rows[0].AskedAt), nil
}

// AdvanceOne claims one run, waiting up to 500 ms for its lock, and advances it as Advance does. Claimed is 0 when the
// lock could not be had, or when the run is not due any more or not of the codes.
func (s *Store) AdvanceOne(ctx context.Context, a Advance, run history.RunKey) (Advanced, error) {
	c := &claim{store: s, Advance: a}
	defer c.over()
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		return c.one(ctx, conn, run)
	})
	if err != nil {
		s.letGo(c.runs, err)
	}
	switch {
	case err == nil:
		return s.publishTurns(ctx, c), nil
	case len(c.runs) == 0 && lockTimedOut(err):
		return Advanced{}, nil
	case len(c.runs) == 0 || !worthAlone(err):
		return Advanced{}, translate(err)
	}
	c.runs[0].fail(history.BlockHistory, err)
	return Advanced{Claimed: 1, Failed: s.stall(ctx, c.runs)}, nil
}

// advanceEach advances the runs of a failed claim one by one, from fresh reads.
func (s *Store) advanceEach(ctx context.Context, a Advance, failed *claim) (Advanced, error) {
	all := Advanced{Full: failed.full || len(failed.left) > 0, NextDue: failed.nextDue, Skipped: failed.skipped, Ahead: failed.ahead, LookIn: failed.lookIn}
	for _, r := range failed.runs {
		if err := ctx.Err(); err != nil {
			return all, unavailable(err)
		}
		one, err := s.AdvanceOne(ctx, a, r.Run.Key)
		if err != nil {
			return all, err
		}
		all.Claimed += one.Claimed
		all.Committed += one.Committed
		all.Full = all.Full || one.Full
		all.NextDue = earlier(all.NextDue, one.NextDue)
		all.Failed = append(all.Failed, one.Failed...)
	}
	return all, nil
}

// publishTurns follows a claim that was committed: it keeps the states, tells who waits, and stalls what failed.
func (s *Store) publishTurns(ctx context.Context, c *claim) Advanced {
	done := Advanced{
		Claimed: len(c.runs) + len(c.left), Full: c.full || len(c.left) > 0, NextDue: c.nextDue, Skipped: c.skipped,
		Ahead: c.ahead, LookIn: c.lookIn,
	}
	var failed []*claimedRun
	for _, r := range c.runs {
		switch {
		case r.err != nil:
			failed = append(failed, r)
		case !r.dropped:
			done.Committed++
			s.publishTurn(r)
			if wake := r.outcome.Run.WakeAt; wake != nil && !wake.After(r.now) {
				done.Full = true
			} else {
				done.NextDue = earlier(done.NextDue, wake)
			}
		}
	}
	done.Failed = s.stall(ctx, failed)
	return done
}

func (s *Store) publishTurn(r *claimedRun) {
	run := r.outcome.Run
	now := s.cfg.Clock()
	s.figures.stored(r, now)
	s.tellTurned(r, now)
	s.records.put(storedRun{ID: r.ID, Run: run, bare: r.bare})
	s.tellTasks(r)
	s.tellUpdates(run.Key, updateIDs(r.outcome.EndedUpdates))
	if r.outcome.Ended {
		s.cfg.Ended(run.Key, r.ending())
		s.notify.ended()
		return
	}
	if !r.outcome.Blocked && r.state.Generation() == run.Generation && r.state.NextSeq() == run.NextSeq {
		s.states.put(r.ID, r.state, r.size)
	}
}

// ending is the run as ReadRun shows it after the turn that ended it; nil if a part of that is not at hand.
func (r *claimedRun) ending() *RunView {
	if r.bare || len(r.outcome.Events) == 0 {
		return nil
	}
	view := &RunView{Run: r.outcome.Run, Input: r.state.Input().Bytes()}
	switch last := r.outcome.Events[len(r.outcome.Events)-1].Data.(type) {
	case *history.RunCompleted:
		view.Output = last.Output.Bytes()
	case *history.RunFailed:
		view.Error = last.Message
	case *history.RunCancelled:
	default:
		return nil
	}
	return view
}

// stall keeps failed runs from being claimed over and over: a run whose rows, events or decision are the reason is
// blocked; one that met with a passing reason rests for a second; one that cannot be blocked either rests longer. One that
// a newer program wrote is left to that, by this process only, or, if those are too many, rests for a second. What the database refuses here is left to the next claim.
func (s *Store) stall(ctx context.Context, runs []*claimedRun) []FailedTurn {
	var failed []FailedTurn
	for _, r := range runs {
		err := translate(r.err)
		failed = append(failed, FailedTurn{Run: r.Run.Key, Err: err})
		newer := errors.Is(err, history.ErrNewerEvent)
		if newer && s.newer.add(r.ID, s.cfg.Clock()) {
			s.figures.turns.Add(turnFailed)
			continue
		}
		if newer || errors.Is(err, ErrUnavailable) {
			s.figures.turns.Add(turnFailed)
			_ = s.postpone(ctx, r.Run.Key, stallTime)
			continue
		}
		if s.Block(ctx, r.Run.Key, r.Run.NextSeq, r.cause, err.Error()) != nil {
			s.figures.turns.Add(turnFailed)
			_ = s.postpone(ctx, r.Run.Key, corruptTime)
		}
	}
	return failed
}

// worthAlone says that a claim failed for a reason that one of its runs may have brought in, so that the others are worth
// advancing without it: what it wrote, or a lock on a token that it waited for.
func worthAlone(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code[:min(2, len(pg.Code))] == "40" || pg.Code == "55P03" || pg.Code == "57014") {
		return true
	}
	return separable(err)
}

// earlier returns the earlier of two times, either of which may be missing.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
