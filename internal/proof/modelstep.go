package proof

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
)

// StartToClose is the time of one attempt, in all drivers.
const StartToClose = 10 * time.Minute

// pastClose is how long a step rests that was begun when its time was over: the next turn says so.
const pastClose = 30 * time.Second

// due says that a turn of the run is due.
func (r *modelRun) due(m *Model) bool { return r.run.WakeAt != nil && !r.run.WakeAt.After(m.Now) }

func (r *modelRun) openTasks() map[history.TaskKey]history.Task {
	open := map[history.TaskKey]history.Task{}
	for key, t := range r.tasks {
		open[key] = t.Task
	}
	return open
}

// scheduled keeps the rows of what a turn asked for, and not of what it withdrew.
func (r *modelRun) scheduled(m *Model, out history.Outcome) error {
	for _, key := range out.ClosedTasks {
		if r.tasks[key] == nil {
			return fmt.Errorf("step %s closes, and has no row", key.ID)
		}
		delete(r.tasks, key)
	}
	for _, t := range out.NewTasks {
		r.tasks[t.TaskKey] = &TaskRow{Task: t, RunAfter: m.Now}
	}
	return nil
}

// settled keeps what a message did to rows.
func (r *modelRun) settled(m *Model, rec *history.Records) {
	for _, key := range rec.ClosedTasks {
		delete(r.tasks, key)
	}
	for key := range rec.ChangedTasks {
		t := r.tasks[key]
		t.Task = rec.Tasks[key]
		if t.RunAfter = m.Now; t.Held {
			t.RunAfter = Held
		}
	}
	for _, l := range rec.Letters {
		r.letters = append(r.letters, LetterRow{l, l.State()})
	}
}

// work does the steps of all runs until none is due. The clock comes first to where the last event is: an outcome bears the
// time of the event before it when that is later.
func (m *Model) work() error {
	for _, r := range m.runs {
		if r.run.UpdatedAt.After(m.Now) {
			m.Now = r.run.UpdatedAt
		}
	}
	for _, key := range m.order {
		if err := m.runs[key].work(m); err != nil {
			return fmt.Errorf("work of %s/%s: %w", key.Namespace, key.RunID, err)
		}
	}
	return nil
}

// work does the steps of the run. Their outcomes are stored in the order in which the engine stored them.
func (r *modelRun) work(m *Model) error {
	outcomes := map[history.TaskKey]history.Message{}
	for n := 0; n < 1000; n++ {
		if err := r.attempts(m, outcomes); err != nil {
			return err
		}
		maps.DeleteFunc(outcomes, func(key history.TaskKey, _ history.Message) bool { return r.tasks[key] == nil })
		if len(outcomes) == 0 {
			return nil
		}
		if _, err := r.accept(m, outcomes[r.nextOutcome(m, outcomes)]); err != nil {
			return err
		}
	}
	return fmt.Errorf("steps never end")
}

// nextOutcome is the step whose outcome is the next event, by what the engine stored, or the first by ID.
func (r *modelRun) nextOutcome(m *Model, outcomes map[history.TaskKey]history.Message) history.TaskKey {
	keys := slices.SortedFunc(maps.Keys(outcomes), func(a, b history.TaskKey) int { return strings.Compare(a.ID, b.ID) })
	if m.Outcome != nil && len(keys) > 1 {
		step, ok := m.Outcome(r.run.Key, r.run.NextSeq)
		key := history.TaskKey{Generation: r.run.Generation, Kind: history.TaskStep, ID: string(step)}
		if ok && outcomes[key] != nil {
			return key
		}
	}
	return keys[0]
}

// attempts makes the attempts that are due. It notes the outcomes that they come to.
func (r *modelRun) attempts(m *Model, outcomes map[history.TaskKey]history.Message) error {
	for key, t := range r.tasks {
		for outcomes[key] == nil && !t.RunAfter.After(m.Now) {
			outcome, err := r.attempt(m, t)
			if err != nil {
				return err
			}
			if outcome != nil {
				outcomes[key] = outcome
			}
		}
	}
	return nil
}

// attempt makes one attempt. It is nil when the attempt has no outcome.
func (r *modelRun) attempt(m *Model, t *TaskRow) (history.Message, error) {
	t.Attempt++
	if t.CloseAt != nil && !t.CloseAt.After(m.Now) {
		t.RunAfter = m.Now.Add(pastClose)
		return nil, nil
	}
	asked := r.events[t.Seq-1].Data.(*history.StepScheduled)
	result, fault := Do(asked.Input.Bytes(), t.Attempt)
	if fault == nil {
		output, err := canon.Marshal(result)
		return &history.SettleTask{Run: r.run.Key, Task: t.TaskKey, Attempt: t.Attempt, Output: output}, err
	}
	if !fault.Final && asked.Retry.Allows(t.Failures+1, fault.Code) {
		t.Failures++
		t.LastError = fault.Message
		t.RunAfter = m.Now.Add(r.pause(m, t, asked, fault))
		return nil, nil
	}
	f := history.Failure{Reason: history.FailedExhausted, Code: fault.Code, Message: fault.Message, Attempt: t.Attempt}
	if fault.Final || !asked.Retry.Allows(0, fault.Code) {
		f.Reason = history.FailedNonRetryable
		return &history.SettleTask{Run: r.run.Key, Task: t.TaskKey, Attempt: t.Attempt, Failure: &f}, nil
	}
	letter := history.Letter{Failure: f}
	if asked.Retry.Hold {
		t.Begun = true
		_, err := r.accept(m, &history.HoldTask{Run: r.run.Key, Task: t.TaskKey, Attempt: t.Attempt, Letter: letter})
		return nil, err
	}
	return &history.SettleTask{Run: r.run.Key, Task: t.TaskKey, Attempt: t.Attempt, Failure: &f, Letter: &letter}, nil
}

// pause is the time until the next attempt, to the microsecond as the store keeps it.
func (r *modelRun) pause(m *Model, t *TaskRow, asked *history.StepScheduled, fault *Fault) time.Duration {
	if fault.After != nil {
		return *fault.After
	}
	pause := asked.Retry.Pause(t.Failures, m.Seed(r.run.Key, t.Generation, t.ID))
	return time.Duration(math.RoundToEven(pause.Seconds()*1e6)) * time.Microsecond
}
