package inbox

import (
	"context"
	"slices"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// decision is something that an operator may do with a message once.
type decision struct {
	from []State // where it can be made
	same []State // where it has been made, or has led
	do   func(row int64) (bool, error)
}

// decide makes a decision. Of two at once, the later one is judged by what the first one left.
func (b *Inbox) decide(ctx context.Context, ns spec.Namespace, id, actor string, d decision) (engine.Verdict, error) {
	if actor != "" {
		if err := spec.CheckName("actor", actor); err != nil {
			return "", err
		}
	}
	m, err := b.letter(ctx, ns, id)
	if err != nil {
		return "", err
	}
	if slices.Contains(d.from, m.State) {
		changed, err := d.do(m.Row)
		if err != nil || changed {
			return engine.VerdictAccepted, err
		}
		if m, err = b.letter(ctx, ns, id); err != nil {
			return "", err
		}
	}
	switch {
	case slices.Contains(d.same, m.State):
		return engine.VerdictDuplicate, nil
	case slices.Contains(d.from, m.State): // it is being delivered
		return "", engine.ErrUnavailable
	}
	return "", engine.ErrLetterDecided
}

func showLetter(m db.StoredMessage) Letter {
	l := Letter{
		ID: letterID(m.Row), Kind: "message", Source: m.Source, MessageID: m.Key.ID, RunID: m.RunID, State: m.State,
		Reason: Reason(m.Reason), ReceivedAt: m.ReceivedAt, Deadline: m.Deadline, Attempt: m.Attempt, ResolvedAt: m.ResolvedAt, Actor: m.Actor,
	}
	if Kind(m.Kind) == Hook {
		l.HookID = spec.HookID(m.Name)
	} else {
		l.Signal = m.Name
	}
	return l
}
