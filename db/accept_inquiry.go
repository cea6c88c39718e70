package db

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// lockMode says what an accept transaction does about a run that another transaction has locked.
type lockMode int

const (
	skipLocked  lockMode = iota // leave it out
	waitForLock                 // wait, at most the lock timeout
)

// inquiry is what a batch of messages needs to know. Its keys are distinct and in key order.
type inquiry struct {
	keys    []history.RunKey
	starts  []*history.StartRun // the first of each run
	signals sqlc.KnownSignalsParams
	hooks   sqlc.KnownHooksParams
	updates sqlc.KnownUpdatesParams
	counts  []history.RunKey // runs whose open updates are counted
	tasks   sqlc.KnownTasksParams
	cancels []history.RunKey
	barring map[*history.StartWith]barring
}

// barring says whether a message starts a run where there is none, judged by the spec that the run would have.
type barring struct {
	auth history.Authority
	err  error // why it does not; nil where it does
}

func (s *Store) inquire(messages []history.Message) inquiry {
	q := inquiry{barring: map[*history.StartWith]barring{}}
	keys := map[history.RunKey]bool{}
	starts := map[history.RunKey]bool{}
	cancels := map[history.RunKey]bool{}
	counts := map[history.RunKey]bool{}
	for _, m := range messages {
		key := m.Target()
		if once(keys, key) {
			q.keys = append(q.keys, key)
		}
		switch m := m.(type) {
		case *history.StartRun:
			if once(starts, key) {
				q.starts = append(q.starts, m)
			}
		case *history.StartWith:
			if q.barring[m] = s.bars(m); q.barring[m].err == nil && once(starts, key) {
				q.starts = append(q.starts, m.Start)
			}
			q.ask(m.Send, counts)
		case *history.SendSignal, *history.SendUpdate:
			q.ask(m, counts)
		case *history.ResumeHook:
			q.askHook(key, m.HookID)
		case *history.DisposeHook:
			q.askHook(key, m.HookID)
		case *history.CancelRun:
			if once(cancels, key) {
				q.cancels = append(q.cancels, key)
			}
		}
		if task, ok := history.TaskOf(m); ok {
			q.askTask(key, task)
		}
	}
	slices.SortFunc(q.keys, history.RunKey.Compare)
	slices.SortFunc(q.starts, func(a, b *history.StartRun) int { return a.Run.Compare(b.Run) })
	return q
}

func (s *Store) bars(m *history.StartWith) barring {
	if m.Barred != nil {
		return barring{err: m.Barred}
	}
	auth, ok := s.cfg.Authority(m.Start.SpecDigest)
	if !ok {
		return barring{err: &AuthorityMissingError{Digest: m.Start.SpecDigest}}
	}
	return barring{auth: auth, err: m.Refusal(auth)}
}

func once[K comparable](seen map[K]bool, key K) bool {
	if seen[key] {
		return false
	}
	seen[key] = true
	return true
}

// ask asks for what is known of a message under its own identity.
func (q *inquiry) ask(m history.Message, counts map[history.RunKey]bool) {
	switch m := m.(type) {
	case *history.SendSignal:
		q.askSignal(m.Run, m.ID)
	case *history.SendUpdate:
		q.updates.Namespaces = append(q.updates.Namespaces, string(m.Run.Namespace))
		q.updates.RunIds = append(q.updates.RunIds, string(m.Run.RunID))
		q.updates.UpdateIds = append(q.updates.UpdateIds, string(m.ID))
		if once(counts, m.Run) {
			q.counts = append(q.counts, m.Run)
		}
	}
}

// askSignal may ask twice for one signal: the answer is the same.
func (q *inquiry) askSignal(key history.RunKey, id spec.SignalID) {
	q.signals.Namespaces = append(q.signals.Namespaces, string(key.Namespace))
	q.signals.RunIds = append(q.signals.RunIds, string(key.RunID))
	q.signals.SignalIds = append(q.signals.SignalIds, string(id))
}

func (q *inquiry) askHook(key history.RunKey, id spec.HookID) {
	q.hooks.Namespaces = append(q.hooks.Namespaces, string(key.Namespace))
	q.hooks.RunIds = append(q.hooks.RunIds, string(key.RunID))
	q.hooks.HookIds = append(q.hooks.HookIds, string(id))
}

func (q *inquiry) askTask(key history.RunKey, task history.TaskKey) {
	q.tasks.Namespaces = append(q.tasks.Namespaces, string(key.Namespace))
	q.tasks.RunIds = append(q.tasks.RunIds, string(key.RunID))
	q.tasks.Generations = append(q.tasks.Generations, int32(task.Generation))
	q.tasks.Kinds = append(q.tasks.Kinds, string(task.Kind))
	q.tasks.TaskIds = append(q.tasks.TaskIds, task.ID)
}

// replies are the rows an inquiry yields, in the order in which they are read.
type replies struct {
	inserted      *[]sqlc.InsertRunsRow
	locked        *[]sqlc.Run
	signals       *[]sqlc.Signal
	hooks, active *[]sqlc.Hook
	tasks, open   *[]sqlc.Task

	updates, openUpdates *[]sqlc.Update
	counts               *[]sqlc.CountOpenUpdatesRow

	clock *[]time.Time
}

// queue adds the statements: new runs, locks, and only then what the locks protect and the time.
func (q *inquiry) queue(p *pipeline, mode lockMode) (replies, error) {
	r := replies{
		inserted: new([]sqlc.InsertRunsRow), signals: new([]sqlc.Signal), hooks: new([]sqlc.Hook), active: new([]sqlc.Hook),
		tasks: new([]sqlc.Task), open: new([]sqlc.Task), updates: new([]sqlc.Update), openUpdates: new([]sqlc.Update),
		counts: new([]sqlc.CountOpenUpdatesRow),
	}
	if len(q.starts) > 0 {
		rows, err := newRuns(q.starts)
		if err != nil {
			return r, err
		}
		r.inserted = queueRows[sqlc.InsertRunsRow](p, sqlc.InsertRuns, rows)
	}
	namespaces, runs := columns(q.keys)
	if mode == skipLocked {
		r.locked = queueRows[sqlc.Run](p, sqlc.LockRuns, sqlc.LockRunsParams{Namespaces: namespaces, RunIds: runs})
	} else {
		r.locked = queueRows[sqlc.Run](p, sqlc.LockRunsWaiting, sqlc.LockRunsWaitingParams{Namespaces: namespaces, RunIds: runs})
	}
	if len(q.signals.RunIds) > 0 {
		r.signals = queueRows[sqlc.Signal](p, sqlc.KnownSignals, q.signals)
	}
	if len(q.hooks.RunIds) > 0 {
		r.hooks = queueRows[sqlc.Hook](p, sqlc.KnownHooks, q.hooks)
	}
	if len(q.cancels) > 0 {
		namespaces, runs := columns(q.cancels)
		r.active = queueRows[sqlc.Hook](p, sqlc.ActiveHooks, sqlc.ActiveHooksParams{Namespaces: namespaces, RunIds: runs})
		r.open = queueRows[sqlc.Task](p, sqlc.OpenTasks, sqlc.OpenTasksParams{Namespaces: namespaces, RunIds: runs})
	}
	if len(q.tasks.RunIds) > 0 {
		r.tasks = queueRows[sqlc.Task](p, sqlc.KnownTasks, q.tasks)
	}
	q.queueUpdates(p, &r)
	r.clock = queueValues[time.Time](p, sqlc.Clock, nil)
	return r, nil
}

func (q *inquiry) queueUpdates(p *pipeline, r *replies) {
	if len(q.counts) > 0 {
		namespaces, runs := columns(q.counts)
		r.updates = queueRows[sqlc.Update](p, sqlc.KnownUpdates, q.updates)
		r.counts = queueRows[sqlc.CountOpenUpdatesRow](p, sqlc.CountOpenUpdates,
			sqlc.CountOpenUpdatesParams{Namespaces: namespaces, RunIds: runs})
	}
	if len(q.cancels) > 0 {
		namespaces, runs := columns(q.cancels)
		r.openUpdates = queueRows[sqlc.Update](p, sqlc.OpenUpdates, sqlc.OpenUpdatesParams{Namespaces: namespaces, RunIds: runs})
	}
}

func newRuns(starts []*history.StartRun) (p sqlc.InsertRunsParams, err error) {
	for _, m := range starts {
		labels, err := labelsJSON(m.Labels)
		if err != nil {
			return p, fmt.Errorf("labels: %w", err)
		}
		parent, err := json.Marshal(m.Parent)
		if err != nil {
			return p, fmt.Errorf("parent: %w", err)
		}
		digest := m.Input.Digest()
		p.Parents = append(p.Parents, parent)
		p.Namespaces = append(p.Namespaces, string(m.Run.Namespace))
		p.RunIds = append(p.RunIds, string(m.Run.RunID))
		p.Workflows = append(p.Workflows, m.Workflow)
		p.Versions = append(p.Versions, m.Version)
		p.SpecDigests = append(p.SpecDigests, m.SpecDigest[:])
		p.InputDigests = append(p.InputDigests, digest[:])
		p.Labels = append(p.Labels, labels)
	}
	return p, nil
}

func columns(keys []history.RunKey) (namespaces, runs []string) {
	for _, key := range keys {
		namespaces = append(namespaces, string(key.Namespace))
		runs = append(runs, string(key.RunID))
	}
	return namespaces, runs
}

// findRuns tells which keys exist. A run that was not locked is unknown only if a later, plain read does not find it.
func findRuns(ctx context.Context, on connection, keys []history.RunKey) (map[history.RunKey]bool, error) {
	namespaces, runs := columns(keys)
	p := &pipeline{}
	rows := queueRows[sqlc.FindRunsRow](p, sqlc.FindRuns, sqlc.FindRunsParams{Namespaces: namespaces, RunIds: runs})
	if err := p.send(ctx, on); err != nil {
		return nil, err
	}
	found := map[history.RunKey]bool{}
	for _, row := range *rows {
		found[history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)}] = true
	}
	return found, nil
}
