package db

import (
	"context"
	"strconv"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// leftOversPage is how many entries of the schedule, or owners of events, are looked at in one transaction.
const leftOversPage = 1000

// queueSchedule has the entries of runs in the schedule compared with their rows.
func queueSchedule(p *pipeline, runs []*verification) {
	byID := make(map[int64]*verification, len(runs))
	ids := make([]int64, len(runs))
	for i, r := range runs {
		ids[i], byID[r.id] = r.id, r
	}
	stream(p, sqlc.VerifySchedule, sqlc.VerifyScheduleParams{Runs: ids}, func(row sqlc.VerifyScheduleRow, _ error) {
		byID[row.ID].schedule = &history.Difference{Row: history.RowDue, Field: "blocked", Text: "is not what the run's row says"}
		if row.Missing {
			byID[row.ID].schedule = &history.Difference{Row: history.RowDue, Text: "the row is missing"}
		}
	})
}

// verifyLeftOvers looks for rows of runs that are not there, and for entries of the schedule that no run has. It yields what
// Verify does.
func (s *Store) verifyLeftOvers(ctx context.Context, yield func(Verified, error) bool) {
	due, owners := scheduleStart(), sqlc.VerifyOwnersParams{After: -1 << 63, Count: leftOversPage}
	for _, next := range []func(context.Context, *Store) (leftOvers, error){due.next, ownersPage{&owners}.next} {
		for more := true; more; {
			page, err := next(ctx, s)
			if err != nil {
				yield(Verified{}, translate(err))
				return
			}
			more = page.seen == leftOversPage
			if len(page.found) > 0 && !yield(Verified{Differences: len(page.found), Found: page.found}, nil) {
				return
			}
		}
	}
}

// leftOvers is what came of a page.
type leftOvers struct {
	seen  int
	found []Difference
}

// schedulePage goes through the schedule.
type schedulePage struct{ after sqlc.VerifyDueParams }

func scheduleStart() *schedulePage {
	return &schedulePage{sqlc.VerifyDueParams{WakeAt: "-infinity", Run: -1 << 63, Count: leftOversPage}}
}

func (c *schedulePage) next(ctx context.Context, s *Store) (page leftOvers, err error) {
	rows, err := verifyRows[sqlc.VerifyDueRow](ctx, s, sqlc.VerifyDue, c.after)
	for _, row := range rows {
		page.seen++
		c.after.Workflow, c.after.Version, c.after.WakeAt, c.after.Run = row.Workflow, row.Version, row.WakeAt, row.Run
		switch {
		case row.Orphan:
			page.found = append(page.found, missingRun(row.Run, "due"))
		case row.LeftOver:
			page.found = append(page.found, Difference{
				Run:        history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)},
				Difference: history.Difference{Row: history.RowDue, Text: "the run's row has no such entry"},
			})
		}
	}
	return page, err
}

// ownersPage goes through the runs that have events, signals or hooks.
type ownersPage struct{ after *sqlc.VerifyOwnersParams }

func (c ownersPage) next(ctx context.Context, s *Store) (page leftOvers, err error) {
	rows, err := verifyRows[sqlc.VerifyOwnersRow](ctx, s, sqlc.VerifyOwners, *c.after)
	for _, row := range rows {
		page.seen++
		c.after.After = row.Run
		if row.LeftOver != "" {
			page.found = append(page.found, missingRun(row.Run, row.LeftOver))
		}
	}
	return page, err
}

func missingRun(id int64, has string) Difference {
	return Difference{Difference: history.Difference{
		Row: history.RowRun, ID: strconv.FormatInt(id, 10), Text: "the row is missing, but rows of it are in " + has,
	}}
}

// verifyRows reads a page in a snapshot of its own.
func verifyRows[R any](ctx context.Context, s *Store, sql string, params any) (rows []R, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	defer release(ctx, conn)
	p := s.verifying()
	got := queueRows[R](p, sql, params)
	p.commit()
	err = p.send(ctx, conn.Conn())
	return *got, err
}
