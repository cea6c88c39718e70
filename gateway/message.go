package gateway

import (
	"context"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/spec"
)

// The kinds of dead letters.
const (
	kindStep    = "step"
	kindMessage = "message"
)

// messageView is a message of the inbox.
type messageView struct {
	inbox.Letter
	ReceivedAt stamp  `json:"received_at"`
	Deadline   stamp  `json:"deadline"`
	ResolvedAt *stamp `json:"resolved_at,omitempty"`
}

func viewMessage(l inbox.Letter) messageView {
	return messageView{l, stamp(l.ReceivedAt), stamp(l.Deadline), stampOf(l.ResolvedAt)}
}

// listMessages lists messages of the inbox, newest first, without their payloads.
func (g *Gateway) listMessages(c *fiber.Ctx, k *call, q query) error {
	if err := q.lacks("name"); err != nil {
		return err
	}
	var texts [4]string
	for i, name := range []string{"state", "source", "run", "reason"} {
		var err error
		if texts[i], err = q.text(name); err != nil {
			return err
		}
	}
	want := inbox.Filter{State: inbox.State(texts[0]), Source: texts[1], RunID: spec.RunID(texts[2]), Reason: inbox.Reason(texts[3])}
	var err error
	if want.Cursor, want.Limit, err = q.page(); err != nil {
		return err
	}
	found := engine.Page[inbox.Letter]{Items: []inbox.Letter{}}
	if g.config.Inbox != nil {
		if found.Items, found.NextCursor, err = g.config.Inbox.List(c.UserContext(), k.who.Namespace, want); err != nil {
			return err
		}
	}
	return k.show(c, viewPage(found, viewMessage))
}

// showMessage shows a message with its payload.
func (g *Gateway) showMessage(c *fiber.Ctx, k *call) error {
	if g.config.Inbox == nil {
		return refuse(notFound)
	}
	l, err := g.config.Inbox.Letter(c.UserContext(), k.who.Namespace, k.letter)
	if err != nil {
		return err
	}
	return k.show(c, viewMessage(l))
}

// messages are the decisions about messages of the caller's namespace.
type messages struct {
	box       *inbox.Inbox
	namespace spec.Namespace
}

func (g *Gateway) messages(k *call) messages { return messages{g.config.Inbox, k.who.Namespace} }

// replay has a dead message wait for its run again.
func (m messages) replay(ctx context.Context, id, actor string) (engine.Verdict, error) {
	if m.box == nil {
		return "", engine.ErrLetterNotFound
	}
	return m.box.Replay(ctx, m.namespace, id, actor)
}

// discard puts a message away.
func (m messages) discard(ctx context.Context, id, actor string) (engine.Verdict, error) {
	if m.box == nil {
		return "", engine.ErrLetterNotFound
	}
	return m.box.Discard(ctx, m.namespace, id, actor)
}

// lacks refuses parameters that mean nothing for the kind that is listed.
func (q query) lacks(names ...string) error {
	for name := range q {
		if slices.Contains(names, name) {
			return unknownField(name, "is not a parameter of this kind")
		}
	}
	return nil
}
