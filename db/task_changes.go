package db

import (
	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// taskRecord reads what rules need of a task's row.
func taskRecord(row sqlc.Task) history.Task {
	return history.Task{
		TaskKey: history.TaskKey{Generation: int(row.Generation), Kind: history.TaskKind(row.Kind), ID: row.TaskID},
		Name:    row.Name, Seq: row.Seq, Target: spec.RunID(row.Target), Policy: history.OnParentEnd(row.Policy),
		CloseAt: utc(row.CloseAt), Attempt: int(row.Attempt), Begun: row.Worker != nil, Held: row.Held,
	}
}

// taskChanges are the rows of tasks and of dead letters that a transaction writes, under the locks of their runs.
type taskChanges struct {
	add     sqlc.InsertTasksParams
	remove  sqlc.DeleteTasksParams
	hold    sqlc.HoldTasksParams
	letters sqlc.InsertLettersParams
	resolve sqlc.ResolveLettersParams
}

// accepted adds what was decided about messages to a run.
func (c *taskChanges) accepted(rec *record) {
	for _, t := range rec.NewTasks {
		c.insert(rec.id, t)
	}
	for _, key := range rec.ClosedTasks {
		c.delete(rec.id, key)
	}
	for key := range rec.ChangedTasks {
		c.hold.Runs = append(c.hold.Runs, rec.id)
		c.hold.Generations = append(c.hold.Generations, int32(key.Generation))
		c.hold.Kinds = append(c.hold.Kinds, string(key.Kind))
		c.hold.TaskIds = append(c.hold.TaskIds, key.ID)
		c.hold.Helds = append(c.hold.Helds, rec.Tasks[key].Held)
	}
	for _, l := range rec.Letters {
		c.letter(rec.id, rec.Run.Key.Namespace, l)
	}
	for _, d := range rec.Decided {
		c.resolve.Runs = append(c.resolve.Runs, rec.id)
		c.resolve.Generations = append(c.resolve.Generations, int32(d.Task.Generation))
		c.resolve.StepIds = append(c.resolve.StepIds, d.Task.ID)
		c.resolve.States = append(c.resolve.States, string(d.State))
		c.resolve.ResolvedAts = append(c.resolve.ResolvedAts, d.At)
		c.resolve.Actors = append(c.resolve.Actors, d.Actor)
	}
}

// advanced adds what a turn decided.
func (c *taskChanges) advanced(s *Store, r *claimedRun) {
	for _, t := range r.outcome.NewTasks {
		c.insert(r.ID, t)
		if s.reserve(r, t) {
			c.add.Workers[len(c.add.Workers)-1] = s.cfg.Process
		}
	}
	for _, key := range r.outcome.ClosedTasks {
		c.delete(r.ID, key)
	}
	c.add.Lease = s.cfg.TaskLease.Seconds()
}

func (c *taskChanges) insert(run int64, t history.Task) {
	c.add.Runs = append(c.add.Runs, run)
	c.add.Generations = append(c.add.Generations, int32(t.Generation))
	c.add.Kinds = append(c.add.Kinds, string(t.Kind))
	c.add.TaskIds = append(c.add.TaskIds, t.ID)
	c.add.Names = append(c.add.Names, t.Name)
	c.add.Seqs = append(c.add.Seqs, t.Seq)
	c.add.Targets = append(c.add.Targets, string(t.Target))
	c.add.Policies = append(c.add.Policies, string(t.Policy))
	c.add.CloseAts = append(c.add.CloseAts, orZero(t.CloseAt))
	c.add.Workers = append(c.add.Workers, "")
}

func (c *taskChanges) delete(run int64, key history.TaskKey) {
	c.remove.Runs = append(c.remove.Runs, run)
	c.remove.Generations = append(c.remove.Generations, int32(key.Generation))
	c.remove.Kinds = append(c.remove.Kinds, string(key.Kind))
	c.remove.TaskIds = append(c.remove.TaskIds, key.ID)
}

func (c *taskChanges) letter(run int64, ns spec.Namespace, l history.DeadLetter) {
	p, f := &c.letters, l.Letter.Failure
	p.Runs = append(p.Runs, run)
	p.Namespaces = append(p.Namespaces, string(ns))
	p.Generations = append(p.Generations, int32(l.Task.Generation))
	p.StepIds = append(p.StepIds, l.Task.ID)
	p.Names = append(p.Names, l.Task.Name)
	p.Reasons = append(p.Reasons, string(f.Reason))
	p.Codes = append(p.Codes, f.Code)
	p.Messages = append(p.Messages, f.Message)
	p.Attempts = append(p.Attempts, int32(f.Attempt))
	p.CreatedAts = append(p.CreatedAts, l.At)
	p.States = append(p.States, string(l.State()))
}

// queue adds the statements. A row that goes may be replaced by one of the same key.
func (c *taskChanges) queue(p *pipeline) {
	if len(c.remove.Runs) > 0 {
		p.exec(sqlc.DeleteTasks, c.remove)
	}
	if len(c.hold.Runs) > 0 {
		p.exec(sqlc.HoldTasks, c.hold)
	}
	if len(c.add.Runs) > 0 {
		p.exec(sqlc.InsertTasks, c.add)
	}
	if len(c.resolve.Runs) > 0 {
		p.exec(sqlc.ResolveLetters, c.resolve)
	}
	if len(c.letters.Runs) > 0 {
		p.exec(sqlc.InsertLetters, c.letters)
	}
}
