package db

import (
	"errors"
	"slices"

	"github.com/flowgate-go/flowgate/internal/history"
)

// This file begins tasks in the commit that makes them: a worker of this process that has room need not claim them.

// reserve asks for room to do a new task at once. A message to another run is left to a claim, which knows whether it has
// to wait for an earlier one.
func (s *Store) reserve(r *claimedRun, t history.Task) bool {
	if t.Kind == history.TaskCall || !s.cfg.Reserve(wantOf(t)) {
		return false
	}
	if len(r.begun) == 0 {
		r.since = s.cfg.Clock() // before the statement that counts the lease from its own time
	}
	r.begun = append(r.begun, t)
	return true
}

func wantOf(t history.Task) TaskWant { return TaskWant{Kind: t.Kind, Name: t.Name, Most: 1} }

// letGo ends what was reserved for turns that are not stored. When nobody knows whether they are, the tasks are given to
// who has the room, to find out.
func (s *Store) letGo(runs []*claimedRun, err error) {
	lost, ok := errors.AsType[*connectionError](err)
	for _, r := range runs {
		switch {
		case len(r.begun) == 0:
		case ok && lost.committing:
			s.cfg.Begun(r.begunTasks(true))
		default:
			wants := make([]TaskWant, len(r.begun))
			for i, t := range r.begun {
				wants[i] = wantOf(t)
			}
			s.cfg.Release(wants)
		}
		r.begun = nil
	}
}

// begunTasks are the tasks that were begun with the turn's commit, as a claim would give them.
func (r *claimedRun) begunTasks(unsure bool) []ClaimedTask {
	run := r.outcome.Run
	tasks := make([]ClaimedTask, len(r.begun))
	for i, t := range r.begun {
		t.Attempt = 1
		tasks[i] = ClaimedTask{
			Run: run.Key, Workflow: run.Workflow, Version: run.Version, Parent: run.Parent, Task: t, Since: r.since,
			Unsure: unsure, run: r.ID,
		}
		if t.CloseAt != nil {
			tasks[i].CloseIn = max(t.CloseAt.Sub(r.now), 1)
		}
		if asked := slices.IndexFunc(r.outcome.Events, func(e history.Event) bool { return e.Seq == t.Seq }); asked >= 0 {
			tasks[i].Asked = r.outcome.Events[asked]
		}
	}
	return tasks
}

// tellTasks says, after the commit of a turn, what there is to do and what is not to be done any more.
func (s *Store) tellTasks(r *claimedRun) {
	if len(r.begun) > 0 {
		s.cfg.Begun(r.begunTasks(false))
	}
	due := slices.DeleteFunc(slices.Clone(r.outcome.NewTasks), func(t history.Task) bool {
		return slices.ContainsFunc(r.begun, func(b history.Task) bool { return b.TaskKey == t.TaskKey })
	})
	r.begun = nil
	s.tellDue(r.Run.Key, due, r.outcome.ClosedTasks)
}

// tellDue says, after their commit, what tasks of a run are due now and which are not to be done any more.
func (s *Store) tellDue(run history.RunKey, due []history.Task, closed []history.TaskKey) {
	if len(closed) > 0 {
		s.cfg.Withdrawn(run, closed)
	}
	var wants []TaskWant
	for _, t := range due {
		if !t.Held {
			wants = append(wants, wantOf(t))
		}
	}
	if len(wants) > 0 && !s.cfg.Tasked(wants) {
		s.notify.tasked()
	}
}
