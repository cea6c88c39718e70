package engine

import (
	"errors"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// SendUpdate is Handle.SendUpdate.
func (r *Rehearsal) SendUpdate(id spec.UpdateID, name string, payload []byte) (Receipt, error) {
	p, err := r.parse(payload)
	if err := errors.Join(id.Validate(), spec.CheckName("name", name), err); err != nil {
		return Receipt{}, err
	}
	return r.accept(&history.SendUpdate{Run: r.key, ID: id, Name: name, Payload: p})
}

// UpdateResult is Handle.UpdateResult.
func (r *Rehearsal) UpdateResult(id spec.UpdateID) (UpdateResult, error) {
	u, ok := r.updates[id]
	switch {
	case !r.begun():
		return UpdateResult{}, ErrRunNotFound
	case !ok:
		return UpdateResult{}, ErrUpdateNotFound
	}
	view := db.UpdateView{Update: u}
	if u.State != UpdateOpen {
		switch end := r.events[u.ResolvedSeq-1].Data.(type) {
		case *history.UpdateCompleted:
			view.Result = end.Output.Bytes()
		case *history.UpdateRejected:
			view.Reason = end.Message
		case *history.UpdateOrphaned:
			view.Cause = end.Cause
		}
	}
	return showUpdate(r.key.RunID, view)
}

func (r *Rehearsal) openUpdates() (n int) {
	for _, u := range r.updates {
		if u.State == UpdateOpen {
			n++
		}
	}
	return n
}
