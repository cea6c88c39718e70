package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// outcomePatience is how long the end of an attempt is tried to be stored.
const outcomePatience = 5 * time.Minute

// settle stores an outcome. One that is refused is not needed: the task was settled, withdrawn, or begun anew. An outage that
// is longer than the lease does not void it: whether somebody has begun the task meanwhile is for the database to say.
func (a *attempt) settle(m history.Message) {
	err := a.persist(func(ctx context.Context) error {
		_, err := a.w.engine.accept(ctx, m)
		return err
	}, ErrStepCancelled)
	switch {
	case err == nil, errors.Is(err, ErrTaskClosed), errors.Is(err, ErrStaleAttempt), errors.Is(err, ErrRunNotFound):
	default:
		a.w.log.Error().Err(err).Str("run", string(a.task.Run.RunID)).Str("task", a.task.Task.ID).
			Msg("the outcome of a task cannot be stored; it is done again when its lease has ended")
	}
}

// give ends the attempt without an outcome. It reports false when the task was not its own any more.
func (a *attempt) give(how db.Attempt) (own bool) {
	how.Details, _ = a.news()
	err := a.persist(func(ctx context.Context) (err error) {
		own, err = a.w.store.ReturnTask(ctx, a.w.process, a.task, how)
		return err
	}, ErrStepCancelled, ErrLeaseLost)
	if err != nil {
		a.w.log.Error().Err(err).Str("run", string(a.task.Run.RunID)).Str("task", a.task.Task.ID).
			Msg("the end of an attempt cannot be stored; the task is begun again when its lease has ended")
	}
	if own && !how.Parked {
		a.w.engine.tasked(nil) // the worker is to know when it is due
	}
	return own
}

// persist repeats what the database could not do, until it is of no use: when the attempt has ended for one of the causes,
// or it was tried for long enough.
func (a *attempt) persist(do func(context.Context) error, causes ...error) error {
	ctx, cancel := context.WithTimeout(a.w.final, outcomePatience)
	defer cancel()
	for pause := firstBackOff; ; pause = min(2*pause, lastBackOff) {
		err := do(ctx)
		if !errors.Is(err, ErrUnavailable) || slices.Contains(causes, context.Cause(a.ctx)) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// Heartbeat says that the attempt goes on and how far it has come: details encode as JSON of at most 16 KiB, nil says
// nothing new. The next attempt reads the last details with HeartbeatDetails; they are stored within about a second. The
// error is the cause with which the attempt's context has ended, or *InvalidError for the details.
func (s *Step) Heartbeat(details any) error {
	if s.door == nil {
		return nil
	}
	if details == nil {
		return s.door.heartbeat(nil)
	}
	p, err := canon.Marshal(details)
	if err != nil {
		return &InvalidError{Field: "details", Rule: encodeError(err).Error()}
	}
	if n := len(p.Bytes()); n > maxDetails {
		return &InvalidError{Field: "details", Rule: fmt.Sprintf("must be at most %d bytes, has %d", maxDetails, n)}
	}
	return s.door.heartbeat(p.Bytes())
}

// HeartbeatDetails decodes what the last heartbeat of an earlier attempt said. The bool is false when there is none.
func HeartbeatDetails[T any](s *Step) (T, bool, error) {
	if len(s.details) == 0 {
		var none T
		return none, false, nil
	}
	v, err := decode[T](fmt.Sprintf("heartbeat of step %q", s.ID), s.details)
	return v, true, err
}

// HookURL is the link of an open hook of the step's run, for whoever is to answer it. It holds the hook's token: it does not
// belong in a log, nor in what the step returns. Errors: those of Handle.HookLink.
func (s *Step) HookURL(ctx context.Context, hookID string) (string, error) {
	if s.door == nil {
		return "", ErrNoPublicURL
	}
	return s.door.hookURL(ctx, spec.HookID(hookID))
}

// PageURL is the link to the approval page of an open hook of the step's run, for one person. It holds a token, as HookURL
// does. Errors: those of Handle.PageLink.
func (s *Step) PageURL(ctx context.Context, hookID, recipient string) (string, error) {
	if s.door == nil {
		return "", ErrNoPublicURL
	}
	return s.door.pageURL(ctx, spec.HookID(hookID), recipient)
}

func (a *attempt) heartbeat(details json.RawMessage) error {
	a.mu.Lock()
	if details != nil {
		a.details = details
		a.said++
	}
	if a.silence != nil {
		a.silence.Reset(a.within)
	}
	a.mu.Unlock()
	return context.Cause(a.ctx)
}

func (a *attempt) hookURL(ctx context.Context, hookID spec.HookID) (string, error) {
	h := &Handle{e: a.w.engine, ns: a.task.Run.Namespace}
	link, err := h.HookLink(a.asRun(ctx), a.task.Run.RunID, hookID)
	if err != nil {
		return "", err
	}
	return link.URL.Reveal(), nil
}

// asRun is a context for what the attempt asks in the name of its run.
func (a *attempt) asRun(ctx context.Context) context.Context {
	return WithTrail(ctx, Trail{Method: TrailRun, Actor: string(a.task.Run.RunID)})
}

func (a *attempt) pageURL(ctx context.Context, hookID spec.HookID, recipient string) (string, error) {
	h := &Handle{e: a.w.engine, ns: a.task.Run.Namespace}
	link, err := h.PageLink(a.asRun(ctx), a.task.Run.RunID, hookID, recipient)
	if err != nil {
		return "", err
	}
	return link.URL.Reveal(), nil
}

// listen begins to watch for heartbeats; deafen ends it.
func (a *attempt) listen(within time.Duration) {
	if within <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.within = within
	a.silence = time.AfterFunc(within, func() { a.cancel(ErrHeartbeatTimeout) })
}

func (a *attempt) deafen() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.silence != nil {
		a.silence.Stop()
		a.silence = nil
	}
}

// news are the details that are not known to be stored, and which they are; nil when there are none. They stay news until
// told: whoever ends the attempt meanwhile stores them, too.
func (a *attempt) news() (json.RawMessage, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.details, a.said
}

// told says that the details of a number are stored.
func (a *attempt) told(said int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said == said {
		a.details = nil
	}
}
