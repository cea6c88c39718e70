package db

import (
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// schedule is a run's entry in the table due; there is none while wakeAt is nil.
type schedule struct {
	wakeAt  *time.Time
	blocked bool
}

func scheduleOf(r history.Run) schedule {
	return schedule{wakeAt: r.WakeAt, blocked: r.Status == history.Blocked}
}

func (s schedule) equal(other schedule) bool {
	if s.wakeAt == nil || other.wakeAt == nil {
		return s.wakeAt == other.wakeAt
	}
	return s.wakeAt.Equal(*other.wakeAt) && s.blocked == other.blocked
}

// runChanges are rows of runs to update, each with its entry in the table due.
type runChanges struct {
	rows    sqlc.UpdateRunsParams
	entered sqlc.ScheduleParams
	left    sqlc.UnscheduleParams
}

func (c *runChanges) none() bool { return len(c.rows.Ids) == 0 }

// add takes a run as it stands now, and the entry that it had under the lock.
func (c *runChanges) add(id int64, was schedule, r history.Run) {
	c.addRow(id, r)
	now := scheduleOf(r)
	if was.equal(now) {
		return
	}
	if was.wakeAt != nil {
		c.left.Workflows = append(c.left.Workflows, r.Workflow)
		c.left.Versions = append(c.left.Versions, r.Version)
		c.left.WakeAts = append(c.left.WakeAts, *was.wakeAt)
		c.left.Runs = append(c.left.Runs, id)
	}
	if now.wakeAt != nil {
		c.entered.Workflows = append(c.entered.Workflows, r.Workflow)
		c.entered.Versions = append(c.entered.Versions, r.Version)
		c.entered.WakeAts = append(c.entered.WakeAts, *now.wakeAt)
		c.entered.Runs = append(c.entered.Runs, id)
		c.entered.Blockeds = append(c.entered.Blockeds, now.blocked)
	}
}

// addRow adds all of a record's changeable columns.
func (c *runChanges) addRow(id int64, r history.Run) {
	p := &c.rows
	p.Ids = append(p.Ids, id)
	p.Statuses = append(p.Statuses, string(r.Status))
	p.Generations = append(p.Generations, int32(r.Generation))
	p.FirstSeqs = append(p.FirstSeqs, r.FirstSeq)
	p.NextSeqs = append(p.NextSeqs, r.NextSeq)
	p.Backlogs = append(p.Backlogs, int32(r.Backlog))
	p.CancelRequestedAts = append(p.CancelRequestedAts, orZero(r.CancelRequestedAt))
	p.CancelSeqs = append(p.CancelSeqs, r.CancelSeq)
	p.BlockCauses = append(p.BlockCauses, string(r.BlockCause))
	p.BlockDiagnoses = append(p.BlockDiagnoses, r.BlockDiagnosis)
	p.BlockAttempts = append(p.BlockAttempts, int32(r.BlockAttempts))
	p.WakeAts = append(p.WakeAts, orZero(r.WakeAt))
	p.UpdatedAts = append(p.UpdatedAts, r.UpdatedAt)
	p.ClosedAts = append(p.ClosedAts, orZero(r.ClosedAt))
}

// queue adds the statements that write the changes, if there are any.
func (c *runChanges) queue(p *pipeline) {
	if c.none() {
		return
	}
	p.exec(sqlc.UpdateRuns, c.rows)
	if len(c.left.Runs) > 0 {
		p.exec(sqlc.Unschedule, c.left)
	}
	if len(c.entered.Runs) > 0 {
		p.exec(sqlc.Schedule, c.entered)
	}
}
