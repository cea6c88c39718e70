package history

import (
	"fmt"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// CompleteUpdate answers an update with a result. Answering an answered one again changes nothing.
type CompleteUpdate struct {
	ID     spec.UpdateID
	Output canon.Payload
}

// RejectUpdate refuses an update. Refusing an answered one changes nothing.
type RejectUpdate struct {
	ID      spec.UpdateID
	Message string
}

// WaitUpdate says that the run waits for updates of a name, be any there or not. It leaves no event.
type WaitUpdate struct {
	Name string
}

// The IDs of updates are their callers', so that these commands have none in the run's own space.
func (c *CompleteUpdate) id() string { return "" }
func (c *RejectUpdate) id() string   { return "" }
func (c *WaitUpdate) id() string     { return "" }

func (c *CompleteUpdate) kind() Kind { return KindUpdate }
func (c *RejectUpdate) kind() Kind   { return KindUpdate }
func (c *WaitUpdate) kind() Kind     { return KindUpdate }

// updateAnswer is an answer as far as two of them are told apart.
type updateAnswer struct {
	rejected bool
	message  string
	digest   canon.Digest
}

func answerOf(c Command) (spec.UpdateID, updateAnswer, bool) {
	switch c := c.(type) {
	case *CompleteUpdate:
		return c.ID, updateAnswer{digest: c.Output.Digest()}, true
	case *RejectUpdate:
		return c.ID, updateAnswer{rejected: true, message: c.Message}, true
	}
	return "", updateAnswer{}, false
}

// checkUpdates judges the commands about updates.
func (t *Turn) checkUpdates(d Decision) string {
	given := map[spec.UpdateID]updateAnswer{}
	for _, c := range d.Commands {
		if c.kind() != KindUpdate {
			continue
		}
		if words := t.checkUpdate(c, given); words != "" {
			return words
		}
	}
	return ""
}

// checkUpdate judges a command about updates, beside the answers that the decision has given before.
func (t *Turn) checkUpdate(c Command, given map[spec.UpdateID]updateAnswer) string {
	if w, ok := c.(*WaitUpdate); ok {
		if err := spec.CheckName("update", w.Name); err != nil {
			return fmt.Sprintf("the decision waits for an update with a bad name: %v", err)
		}
		return ""
	}
	id, answer, _ := answerOf(c)
	if err := id.Validate(); err != nil {
		return fmt.Sprintf("the decision answers an update with a bad ID: %v", err)
	}
	if u, known := t.state.updates.get(string(id)); !known || !t.state.shown(u) {
		return fmt.Sprintf("the decision answers update %q, which this generation of the run was not shown", id)
	}
	if before, again := given[id]; again && before != answer {
		return fmt.Sprintf("the decision answers update %q twice, and not alike", id)
	}
	given[id] = answer
	return ""
}

// answerUpdate ends an open update. One that was answered before stays as it was.
func (t *Turn) answerUpdate(c Command) {
	id, _, answers := answerOf(c)
	if u, known := t.state.updates.get(string(id)); !answers || !known || u.state != UpdateIsOpen {
		return
	}
	switch c := c.(type) {
	case *CompleteUpdate:
		t.endUpdate(id, UpdateIsCompleted, &UpdateCompleted{UpdateID: id, Digest: c.Output.Digest(), Output: c.Output})
	case *RejectUpdate:
		t.endUpdate(id, UpdateIsRejected, &UpdateRejected{UpdateID: id, Message: printable(c.Message)})
	}
}

// orphanUpdates ends the open updates with the run, in order of acceptance.
func (t *Turn) orphanUpdates(cause HookState) {
	for len(t.state.asking) > 0 && t.blocked == nil {
		id := t.state.asking[0].data.UpdateID
		t.endUpdate(id, UpdateIsOrphaned, &UpdateOrphaned{UpdateID: id, Cause: cause})
	}
}

func (t *Turn) endUpdate(id spec.UpdateID, state UpdateState, data Data) {
	now := t.now
	t.endedUpdates = append(t.endedUpdates, Update{ID: id, State: state, ResolvedAt: &now, ResolvedSeq: t.state.nextSeq})
	t.emit(data)
}
