package gateway

import (
	"context"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/spec"
)

// letterView is a dead letter.
type letterView struct {
	engine.DeadLetter
	CreatedAt  stamp  `json:"created_at"`
	ResolvedAt *stamp `json:"resolved_at,omitempty"`
}

func viewLetter(l engine.DeadLetter) letterView {
	return letterView{l, stamp(l.CreatedAt), stampOf(l.ResolvedAt)}
}

// listLetters lists dead letters, newest first.
func (g *Gateway) listLetters(c *fiber.Ctx, k *call) error {
	q, err := queryOf(c, "kind", "state", "name", "source", "run", "reason", "cursor", "limit")
	if err != nil {
		return err
	}
	kind, err := q.text("kind")
	switch {
	case err != nil:
		return err
	case kind == kindMessage:
		return g.listMessages(c, k, q)
	case kind != "" && kind != kindStep:
		return &spec.InvalidError{Field: "kind", Rule: "must be step or message"}
	}
	if err := q.lacks("source", "run", "reason"); err != nil {
		return err
	}
	var want engine.LetterFilter
	state, err := q.text("state")
	if err != nil {
		return err
	}
	want.State = engine.LetterState(state)
	if want.Name, err = q.text("name"); err != nil {
		return err
	}
	if want.Cursor, want.Limit, err = q.page(); err != nil {
		return err
	}
	page, err := k.handle.ListDeadLetters(c.UserContext(), want)
	if err != nil {
		return err
	}
	return k.show(c, viewPage(engine.Page[engine.DeadLetter]{Items: page.Letters, NextCursor: page.Next}, viewLetter))
}

// showLetter shows a dead letter.
func (g *Gateway) showLetter(c *fiber.Ctx, k *call) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	if inbox.IsLetterID(k.letter) {
		return g.showMessage(c, k)
	}
	l, err := k.handle.DeadLetter(c.UserContext(), k.letter)
	if err != nil {
		return err
	}
	return k.show(c, viewLetter(l))
}

// replayLetter has a held step tried again.
func (g *Gateway) replayLetter(c *fiber.Ctx, k *call) error {
	if inbox.IsLetterID(k.letter) {
		return k.decideLetter(c, g.messages(k).replay)
	}
	return k.decideLetter(c, k.handle.ReplayDeadLetter)
}

// discardLetter lets a held step fail, or puts the letter of a failed one away.
func (g *Gateway) discardLetter(c *fiber.Ctx, k *call) error {
	if inbox.IsLetterID(k.letter) {
		return k.decideLetter(c, g.messages(k).discard)
	}
	return k.decideLetter(c, k.handle.DiscardDeadLetter)
}

// letterAnswer is the body of a decision about a dead letter.
type letterAnswer struct {
	LetterID  string         `json:"letter_id"`
	Outcome   outcome        `json:"outcome"`
	Verdict   engine.Verdict `json:"verdict"`
	RequestID string         `json:"request_id"`
}

func (k *call) decideLetter(
	c *fiber.Ctx, by func(ctx context.Context, id, actor string) (engine.Verdict, error),
) error {
	if err := noFields(c); err != nil {
		return err
	}
	verdict, err := by(c.UserContext(), k.letter, k.who.Actor)
	if err != nil {
		return err
	}
	said := k.settle(c, verdict, outcomeAccepted, receipt{})
	return writeJSON(c, http.StatusAccepted, letterAnswer{
		LetterID: k.letter, Outcome: said.Outcome, Verdict: said.Verdict, RequestID: said.RequestID,
	})
}
