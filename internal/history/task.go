package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// A task is what a run has done for it outside its turns: a step, a child, or a call, which is a message to another run.
// It is opened by naming it once and lives until it settles or is withdrawn. Only what is open has a row.

// TaskState is where a task stands.
type TaskState string

// The states of a task; the empty one is that of an ID never named in the generation.
const (
	TaskUnknown   TaskState = ""
	TaskOpen      TaskState = "open"
	TaskCompleted TaskState = "completed"
	TaskFailed    TaskState = "failed"
	TaskCancelled TaskState = "cancelled" // withdrawn by code, or the run ended
)

// FailureReason says why a task failed. The set is closed.
type FailureReason string

// The reasons of a step.
const (
	FailedExhausted       FailureReason = "exhausted"         // its attempts are used up
	FailedNonRetryable    FailureReason = "non_retryable"     // its error allows no other attempt
	FailedQuarantined     FailureReason = "quarantined"       // it took its process down too often
	FailedScheduleToClose FailureReason = "schedule_to_close" // its time for all attempts is over
	FailedDiscarded       FailureReason = "discarded"         // somebody discarded it among the dead letters
)

// The reasons of a child.
const (
	FailedChild           FailureReason = "failed"           // it ended as failed
	FailedCancelled       FailureReason = "cancelled"        // it was cancelled
	FailedUnknownWorkflow FailureReason = "workflow_unknown" // nobody has registered the workflow
	FailedDepth           FailureReason = "depth"            // too many parents above it
)

// The reasons of a call. A child has FailedSchema and FailedConflict too.
const (
	FailedTargetUnknown FailureReason = "target_unknown" // no such run, also some time after it was first tried
	FailedTargetEnded   FailureReason = "target_ended"
	FailedUndeclared    FailureReason = "undeclared" // the target's spec does not declare the signal
	FailedSchema        FailureReason = "schema"
	FailedConflict      FailureReason = "conflict" // the signal ID was used for another message; of a child, the run ID for another run
)

// Failure is why a task failed, as workflow code sees it.
type Failure struct {
	Reason  FailureReason
	Code    string // that the step's error had
	Message string
	Attempt int // the last one, of a step
}

// TaskKind says what a row of tasks is.
type TaskKind string

// The kinds. Report and stop are no tasks of workflow code: a child tells its parent, a parent its child, that it ended.
const (
	TaskStep   TaskKind = "step"
	TaskChild  TaskKind = "child"
	TaskCall   TaskKind = "call"
	TaskReport TaskKind = "report"
	TaskStop   TaskKind = "stop"
)

// TaskKey names a task within its run.
type TaskKey struct {
	Generation int
	Kind       TaskKind
	ID         string
}

// Task is the record of an open task.
type Task struct {
	TaskKey
	Name    string      // of a step, under which its function is registered
	Seq     int64       // of the event that asked for it; 0 of a report and a stop
	Target  spec.RunID  // the other run, of any but a step
	Policy  OnParentEnd // of a child, and of the stop that follows when its parent ends
	CloseAt *time.Time  // of a step: no outcome is taken from then on
	Attempt int         // how often it was begun
	Begun   bool        // somebody is at work on it
	Held    bool        // its attempts are used up, and it waits for somebody to replay or discard it
}

// Stop is the task of telling a child that its parent ended; false for one that is abandoned.
func (t Task) stop() (Task, bool) {
	key := TaskKey{Generation: t.Generation, Kind: TaskStop, ID: t.ID}
	return Task{TaskKey: key, Target: t.Target, Policy: t.Policy}, t.Policy != ChildAbandon
}

// report is the task of telling the parent that a run ended.
func (p Parent) report(generation int) Task {
	return Task{TaskKey: TaskKey{Generation: generation, Kind: TaskReport, ID: string(p.ChildID)}, Target: p.RunID}
}

// task is a task of the generation.
type task struct {
	id       string
	kind     Kind
	name     string // of a step; of a child the workflow; of a call the signal, empty for a wish to cancel
	target   spec.RunID
	digest   canon.Digest // of the input
	stop     OnParentEnd  // of a child
	closeAt  *time.Time
	openedAt time.Time // effective
	seq      int64
	state    TaskState // by the events
	shown    TaskState // to workflow code, as of the facts taken
	output   canon.Payload
	failure  *Failure
	waived   bool  // workflow code withdrew it after its outcome was accepted and before that was shown
	settled  int32 // as of a wait
}

func (t *task) label() string { return t.id }

// key is that of the task's row.
func (t *task) key(generation int) TaskKey {
	return TaskKey{Generation: generation, Kind: TaskKind(t.kind), ID: t.id}
}

// record is the row of an open task that no attempt was made of.
func (t *task) record(generation int) Task {
	r := Task{TaskKey: t.key(generation), Seq: t.seq, Target: t.target, Policy: t.stop, CloseAt: t.closeAt}
	if t.kind == KindStep {
		r.Name = t.name
	}
	return r
}

// openTasks lists the open tasks in order of ID, so that an ending writes its events in one order always.
func (s *State) openTasks() []*task {
	open := slices.Clone(s.working)
	slices.SortFunc(open, func(a, b *task) int { return cmp.Compare(a.id, b.id) })
	return open
}

func (s *State) stopWorking(t *task) {
	if i := slices.Index(s.working, t); i >= 0 {
		s.working = slices.Delete(s.working, i, i+1)
	}
}

// DeadLetter is a step that failed for good, or that is held.
type DeadLetter struct {
	Task   Task
	Letter Letter
	At     time.Time
}

// LetterState is where a dead letter stands.
type LetterState string

// The states. Only a held step can be replayed or discarded; a failed one is part of its run's history.
const (
	LetterHeld      LetterState = "held"
	LetterFailed    LetterState = "failed"
	LetterReplayed  LetterState = "replayed"
	LetterDiscarded LetterState = "discarded"
)

// State is that of a letter when it is written.
func (l DeadLetter) State() LetterState {
	if l.Task.Held {
		return LetterHeld
	}
	return LetterFailed
}

// LetterDecision is what somebody decided about a held step.
type LetterDecision struct {
	Task  TaskKey
	State LetterState // replayed or discarded
	Actor string
	At    time.Time
}
