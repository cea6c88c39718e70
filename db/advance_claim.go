package db

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// claimEvents bounds the events that one claim reads, beside those of its first run. A run more than that is left for the
// next claim.
const claimEvents = 50_000

// skippedTime is after how long a due run that others keep locked is worth waiting for.
const skippedTime = 200 * time.Millisecond

// claim is one transaction that advances runs. What it holds is worth nothing until the transaction committed.
type claim struct {
	Advance
	store *Store
	conn  *pgx.Conn
	runs  []*claimedRun // oldest due time first

	turning []history.RunKey // runs whose calls are held back

	left    []*claimedRun // runs that were claimed and left for the next claim
	full    bool          // as many as the limit were due
	ahead   time.Duration // of this process's clock is the database's
	nextDue *time.Time
	lookIn  time.Duration // until a claim looks at everything that is due; zero when this one does
	skipped *history.RunKey
}

// claimedRun is a run under lock, from its claim to its outcome.
type claimedRun struct {
	storedRun                // as claimed
	state     *history.State // nil while it has to be folded from the generation's first event
	size      int64          // of the events that the state is the fold of
	now       time.Time
	dueSince  time.Time // by this process's clock; zero when that is not known
	rejected  map[spec.HookID]history.Rejection

	outcome history.Outcome
	events  sqlc.AppendEventsParams
	rounds  int                // how often it was decided again because of hooks that were refused
	begun   []history.Task     // new tasks that this process begins with the commit
	since   time.Time          // when the first of them was reserved
	dropped bool               // nothing of the turn is stored
	err     error              // why the turn cannot be stored
	cause   history.BlockCause // what the run is blocked with because of err
}

// fail takes a run out of the claim.
func (r *claimedRun) fail(cause history.BlockCause, err error) {
	r.dropped, r.cause, r.err = true, cause, err
}

// reading is the number of events that bringing the run's state up to date reads.
func (r *claimedRun) reading() int64 {
	switch {
	case r.state != nil:
		return r.Run.NextSeq - r.state.NextSeq()
	case r.Run.Generation > 1:
		return r.Run.HistoryLength() + int64(r.Run.Backlog)
	}
	return r.Run.HistoryLength()
}

// due claims and advances what is due.
func (c *claim) due(ctx context.Context, conn *pgx.Conn) error {
	workflows, versions := codeArrays(c.Codes)
	c.lookIn = c.store.floors.lookIn(c.Codes, c.store.cfg.Clock())
	p := &pipeline{}
	p.begin(c.store.cfg.LockTimeout)
	rows := queueRows[sqlc.ClaimRunsRow](p, sqlc.ClaimRuns, sqlc.ClaimRunsParams{
		Workflows: workflows, Versions: versions, Floors: c.store.floors.of(c.Codes, c.store.cfg.Clock()), Batch: int64(max(c.Limit, 1)),
		Unreadable: c.store.newer.at(c.store.cfg.Clock()), Grace: c.Grace.Seconds(),
	})
	if err := p.send(ctx, conn); err != nil {
		return err
	}
	asked := (*rows)[0].AskedAt
	c.ahead = asked.Sub(c.store.cfg.Clock())
	c.wait((*rows)[0])
	last := map[Code]time.Time{}
	for _, row := range *rows {
		if row.ID != nil {
			c.hold(claimedRow(row))
			last[Code{Workflow: *row.Workflow, Version: *row.Version}] = orZero(row.WakeAt)
		}
	}
	c.full = len(c.runs) == max(c.Limit, 1)
	if len(c.runs) > 0 {
		c.leave()
		if err := c.advance(ctx, conn); err != nil {
			return err
		}
	} // else what is open is rolled back
	c.store.floors.raise(c.Codes, asked, last, c.stillDue(), !c.full)
	return nil
}

// wait notes what is due later, and what is due and locked by others: soon they may let go of it.
func (c *claim) wait(row sqlc.ClaimRunsRow) {
	c.nextDue = utc(row.NextDue)
	switch {
	case row.SkippedSince == nil:
	case row.AskedAt.Sub(*row.SkippedSince) >= skippedTime:
		c.skipped = &history.RunKey{Namespace: spec.Namespace(orZero(row.SkippedNamespace)), RunID: spec.RunID(orZero(row.SkippedRunID))}
	default:
		c.nextDue = utc(row.SkippedSince)
	}
}

// stillDue is since when runs of each code are due that were claimed and not advanced.
func (c *claim) stillDue() map[Code]time.Time {
	since := map[Code]time.Time{}
	for _, r := range slices.Concat(c.runs, c.left) {
		code := Code{Workflow: r.Run.Workflow, Version: r.Run.Version}
		known, ok := since[code]
		if wake := r.Run.WakeAt; r.dropped && wake != nil && (!ok || wake.Before(known)) {
			since[code] = *wake
		}
	}
	return since
}

// one claims and advances a single run, waiting for its lock.
func (c *claim) one(ctx context.Context, conn *pgx.Conn, key history.RunKey) error {
	workflows, versions := codeArrays(c.Codes)
	p := &pipeline{}
	p.begin(soleLockTimeout)
	rows := queueRows[sqlc.Run](p, sqlc.ClaimRun, sqlc.ClaimRunParams{
		Namespace: string(key.Namespace), RunID: string(key.RunID), Workflows: workflows, Versions: versions,
	})
	if err := p.send(ctx, conn); err != nil || len(*rows) == 0 {
		return err
	}
	c.hold((*rows)[0])
	return c.advance(ctx, conn)
}

// begins holds back the calls to a run until the claim is over.
func (c *claim) begins(key history.RunKey) {
	c.store.turning.begin(key, c.store.cfg.Clock())
	c.turning = append(c.turning, key)
}

// ends lets the calls to a run go that were held back, before the others.
func (c *claim) ends(key history.RunKey) {
	if i := slices.Index(c.turning, key); i >= 0 {
		c.turning = slices.Delete(c.turning, i, i+1)
		c.store.turning.end(key)
	}
}

// over lets the calls go that were held back.
func (c *claim) over() {
	for _, key := range c.turning {
		c.store.turning.end(key)
	}
	c.turning = nil
}

// hold takes a locked row into the claim. One that is no record fails alone.
func (c *claim) hold(row sqlc.Run) {
	r := &claimedRun{storedRun: storedRun{ID: row.ID}}
	c.runs = append(c.runs, r)
	c.store.handed.forget(row.ID) // from here on it is this claim's
	c.begins(history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)})
	run, err := runRecord(row)
	if err != nil {
		r.Run.Key = history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)}
		r.Run.NextSeq = row.NextSeq
		r.fail(history.BlockHistory, err)
		return
	}
	r.Run = run
	r.state, r.size = c.store.states.take(r.ID, run)
}

// leave lets go of runs whose events are too many for one transaction. The first one is always kept.
func (c *claim) leave() {
	var reading int64
	kept := c.runs[:0]
	for _, r := range c.runs {
		n := r.reading()
		if len(kept) > 0 && reading+n > claimEvents {
			r.dropped = true
			c.left = append(c.left, r)
			if r.state != nil {
				c.store.states.put(r.ID, r.state, r.size)
			}
			continue
		}
		reading += n
		kept = append(kept, r)
	}
	c.runs = kept
}

// advance runs a turn of each run under lock and stores the outcomes.
func (c *claim) advance(ctx context.Context, conn *pgx.Conn) error {
	c.conn = conn
	if err := c.begin(ctx); err != nil {
		return err
	}
	for _, r := range c.runs {
		c.decide(r)
	}
	if err := c.placeHooks(ctx); err != nil {
		return err
	}
	return c.write(ctx)
}

// decide runs the turn of one run.
func (c *claim) decide(r *claimedRun) {
	if r.dropped {
		return
	}
	outcome, fate := c.Decide(r.Run, r.state, r.now, r.rejected)
	if fate == Leave {
		c.store.states.put(r.ID, r.state, r.size)
	}
	if fate != Commit {
		r.dropped = true
		return
	}
	r.outcome, r.events = outcome, sqlc.AppendEventsParams{}
	if err := addEvents(&r.events, r.ID, outcome.Events); err != nil {
		r.fail(history.BlockHistory, err)
	}
}

func codeArrays(codes []Code) (workflows, versions []string) {
	for _, code := range codes {
		workflows = append(workflows, code.Workflow)
		versions = append(versions, code.Version)
	}
	return workflows, versions
}

// claimedRow is the run of a claim's answer that has one; that answer has one without a run, too.
func claimedRow(row sqlc.ClaimRunsRow) sqlc.Run {
	return sqlc.Run{
		ID: *row.ID, Namespace: orZero(row.Namespace), RunID: orZero(row.RunID), Workflow: orZero(row.Workflow),
		Version: orZero(row.Version), SpecDigest: row.SpecDigest, InputDigest: row.InputDigest, Labels: row.Labels,
		Parent: row.Parent, Status: orZero(row.Status), Generation: orZero(row.Generation), FirstSeq: orZero(row.FirstSeq),
		NextSeq: orZero(row.NextSeq), Backlog: orZero(row.Backlog), CancelRequestedAt: row.CancelRequestedAt,
		CancelSeq:  row.CancelSeq,
		BlockCause: row.BlockCause, BlockDiagnosis: row.BlockDiagnosis, BlockAttempts: orZero(row.BlockAttempts),
		WakeAt: row.WakeAt, StartedAt: orZero(row.StartedAt), UpdatedAt: orZero(row.UpdatedAt), ClosedAt: row.ClosedAt,
	}
}
