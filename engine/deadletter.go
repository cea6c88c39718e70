package engine

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// LetterState is where a dead letter stands.
type LetterState = history.LetterState

// The states of a dead letter.
const (
	LetterHeld      = history.LetterHeld      // its step is open and waits for a decision
	LetterFailed    = history.LetterFailed    // its step has failed, and its run was told
	LetterReplayed  = history.LetterReplayed  // its step was tried again
	LetterDiscarded = history.LetterDiscarded // nobody cares any more
)

// DeadLetter is a step that failed although it was tried as often as it may be, or took too many processes down.
type DeadLetter struct {
	ID         string        `json:"letter_id"`
	RunID      spec.RunID    `json:"run_id"`
	Workflow   string        `json:"workflow"`
	Generation int           `json:"generation"`
	StepID     spec.StepID   `json:"step_id"`
	Name       string        `json:"name"`
	Reason     FailureReason `json:"reason"`
	Code       string        `json:"code,omitempty"`
	Message    string        `json:"message,omitempty"`
	Attempt    int           `json:"attempt"` // the last one
	State      LetterState   `json:"state"`
	CreatedAt  time.Time     `json:"created_at"`
	ResolvedAt *time.Time    `json:"resolved_at,omitempty"`
	Actor      string        `json:"actor,omitempty"` // who decided
}

// LetterFilter says which dead letters to list. Empty fields pass everything.
type LetterFilter struct {
	State  LetterState
	Name   string // of the step
	Cursor string // of the page before
	Limit  int    // at most 200, default 50
}

// LetterPage is a page of dead letters, the newest first. Next is empty on the last one.
type LetterPage struct {
	Letters []DeadLetter `json:"items"`
	Next    string       `json:"next_cursor,omitempty"`
}

// ListDeadLetters lists the dead letters of the namespace. Errors: *InvalidError, ErrUnavailable.
func (h *Handle) ListDeadLetters(ctx context.Context, f LetterFilter) (LetterPage, error) {
	switch f.State {
	case "", LetterHeld, LetterFailed, LetterReplayed, LetterDiscarded:
	default:
		return LetterPage{}, &InvalidError{Field: "state", Rule: "must be held, failed, replayed or discarded"}
	}
	if err := checkLimit(&f.Limit); err != nil {
		return LetterPage{}, err
	}
	if f.Name != "" {
		if err := spec.CheckName("name", f.Name); err != nil {
			return LetterPage{}, err
		}
	}
	letters, next, err := h.e.store.ListLetters(ctx, db.LetterFilter{
		Namespace: h.ns, State: f.State, Name: f.Name, Cursor: f.Cursor, Limit: f.Limit,
	})
	if err != nil {
		return LetterPage{}, err
	}
	p := LetterPage{Letters: make([]DeadLetter, len(letters)), Next: next}
	for i, l := range letters {
		p.Letters[i] = showLetter(l)
	}
	return p, nil
}

// DeadLetter reads one. Errors: ErrLetterNotFound, also for an ID that is none, ErrUnavailable.
func (h *Handle) DeadLetter(ctx context.Context, id string) (DeadLetter, error) {
	l, err := h.letter(ctx, id)
	if err != nil {
		return DeadLetter{}, err
	}
	return showLetter(l), nil
}

func (h *Handle) letter(ctx context.Context, id string) (db.Letter, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != id {
		return db.Letter{}, ErrLetterNotFound
	}
	return h.e.store.ReadLetter(ctx, h.ns, n)
}

// ReplayDeadLetter has a held step tried again, with all its attempts. Replaying again is a duplicate. Errors:
// *InvalidError for the actor, ErrLetterNotFound; ErrLetterDecided for one that was discarded, or whose step has failed in
// its run's history; ErrTaskClosed for one whose run ended or withdrew it since; ErrUnavailable.
func (h *Handle) ReplayDeadLetter(ctx context.Context, id, actor string) (v Verdict, err error) {
	defer func() { h.e.figures.received(MessageReplay, v, err) }()
	return h.decideLetter(ctx, id, actor, LetterReplayed, func(l db.Letter, task history.TaskKey) error {
		if l.State != LetterHeld {
			return ErrLetterDecided
		}
		_, err := h.e.accept(ctx, &history.ReplayTask{Run: l.Run, Task: task, Actor: actor})
		return err
	})
}

// DiscardDeadLetter lets a held step fail, with the reason "discarded"; of a step that has failed it only ends the letter.
// Discarding again is a duplicate. Errors: *InvalidError for the actor, ErrLetterNotFound, ErrLetterDecided for one that was
// replayed, ErrUnavailable.
func (h *Handle) DiscardDeadLetter(ctx context.Context, id, actor string) (v Verdict, err error) {
	defer func() { h.e.figures.received(MessageDiscard, v, err) }()
	return h.decideLetter(ctx, id, actor, LetterDiscarded, func(l db.Letter, task history.TaskKey) error {
		if l.State == LetterHeld {
			_, err := h.e.accept(ctx, &history.DiscardTask{Run: l.Run, Task: task, Actor: actor})
			if !errors.Is(err, ErrTaskClosed) {
				return err
			}
		}
		changed, err := h.e.store.DiscardLetter(ctx, h.ns, l, actor)
		if err == nil && !changed {
			return ErrTaskClosed // somebody was faster
		}
		return err
	})
}

// decideLetter makes a decision about a letter that was not decided before. Of two at once, the later one is judged by what
// the first one left.
func (h *Handle) decideLetter(
	ctx context.Context, id, actor string, want LetterState, decide func(db.Letter, history.TaskKey) error,
) (Verdict, error) {
	if err := checkSource("", actor); err != nil {
		return "", err
	}
	l, err := h.letter(ctx, id)
	if err != nil {
		return "", err
	}
	if l.State == LetterHeld || l.State == LetterFailed {
		task := history.TaskKey{Generation: l.Generation, Kind: history.TaskStep, ID: string(l.StepID)}
		err := decide(l, task)
		if !errors.Is(err, ErrTaskClosed) {
			return VerdictAccepted, err
		}
		if l, err = h.letter(ctx, id); err != nil {
			return "", err
		}
	}
	switch {
	case l.State == want:
		return VerdictDuplicate, nil
	case l.State == LetterHeld, l.State == LetterFailed:
		return "", ErrTaskClosed
	}
	return "", ErrLetterDecided
}

func showLetter(l db.Letter) DeadLetter {
	return DeadLetter{
		ID: strconv.FormatInt(l.ID, 10), RunID: l.Run.RunID, Workflow: l.Workflow, Generation: l.Generation, StepID: l.StepID,
		Name: l.Name, Reason: l.Failure.Reason, Code: l.Failure.Code, Message: l.Failure.Message, Attempt: l.Failure.Attempt,
		State: l.State, CreatedAt: l.CreatedAt, ResolvedAt: l.ResolvedAt, Actor: l.Actor,
	}
}
