package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// updateAnswer is the body of an accepted update, with its result where there is one.
type updateAnswer struct {
	answer
	RunID    spec.RunID         `json:"run_id"`
	UpdateID spec.UpdateID      `json:"update_id"`
	State    engine.UpdateState `json:"state,omitempty"` // left out when it could not be read
	Result   json.RawMessage    `json:"result,omitempty"`
}

// updateStarted is the answer to an update with a start.
type updateStarted struct {
	updateAnswer
	StartedFresh bool `json:"started_fresh"`
}

// sendUpdate delivers the body, as it is, under the caller's key or an ID made here. With ?wait it answers as soon as the
// workflow does, or when the time is over.
func (g *Gateway) sendUpdate(c *fiber.Ctx, k *call) error {
	wait, err := waitOf(c)
	if err != nil {
		return err
	}
	payload, err := bodyOf(c)
	if err != nil {
		return err
	}
	id, err := g.identity(k, k.key)
	if err != nil {
		return err
	}
	r, err := k.handle.SendUpdate(c.UserContext(), engine.UpdateRequest{
		RunID: k.run, UpdateID: spec.UpdateID(id), Name: k.name, Payload: payload, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return err
	}
	body, err := g.updated(c, k, r, wait)
	if err != nil {
		return err
	}
	return writeJSON(c, updateStatus(body.State), body)
}

// waitOf reads ?wait of a keyed route, whose parameters are checked.
func waitOf(c *fiber.Ctx) (time.Duration, error) {
	q, err := queryOf(c, "wait", "idempotency_key")
	if err != nil {
		return 0, err
	}
	return q.span("wait", maxWait)
}

// updated is the body of an accepted update. What the workflow said already, or says in time, is the answer; that it
// refused or will not answer any more is a refusal. The update is committed, so nothing else is.
func (g *Gateway) updated(c *fiber.Ctx, k *call, r engine.Receipt, wait time.Duration) (updateAnswer, error) {
	body := updateAnswer{
		answer: k.settle(c, r.Verdict, outcomeAccepted, fullReceipt(r)), RunID: r.Run.RunID, UpdateID: r.UpdateID,
		State: engine.UpdateOpen,
	}
	if wait == 0 && r.Verdict == engine.VerdictAccepted {
		return body, nil // there was no time to answer it
	}
	u, err := g.updateResult(c.UserContext(), k, r.Run.RunID, r.UpdateID, wait)
	if err != nil && u.State != "" {
		return body, err
	}
	body.State, body.Result = u.State, u.Result
	return body, nil
}

// updateResult reads an update, after waiting for its end where that is asked for. Whoever finds no room to wait, or waits
// when a drain begins, gets the present state at once. A refusal of the workflow's comes with the state.
func (g *Gateway) updateResult(
	ctx context.Context, k *call, run spec.RunID, id spec.UpdateID, wait time.Duration,
) (engine.UpdateResult, error) {
	u, err := k.handle.UpdateResult(ctx, run, id)
	if err != nil || wait == 0 || u.State != engine.UpdateOpen || g.Draining() || !g.waiters.take(k.who.Namespace) {
		return u, err
	}
	defer g.waiters.give(k.who.Namespace)
	g.park(ctx, k, wait, func(ctx context.Context) { u, err = k.handle.WaitUpdate(ctx, run, id) })
	if u.State != "" {
		return u, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return k.handle.UpdateResult(ctx, run, id)
}

// updateStatus tells an answered update from one that waits for its answer.
func updateStatus(state engine.UpdateState) int {
	if state == engine.UpdateCompleted {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// showUpdate shows an update and its result. With ?wait it answers as soon as the workflow does, or when the time is over.
func (g *Gateway) showUpdate(c *fiber.Ctx, k *call) error {
	q, err := queryOf(c, "wait")
	if err != nil {
		return err
	}
	wait, err := q.span("wait", maxWait)
	if err != nil {
		return err
	}
	u, err := g.updateResult(c.UserContext(), k, k.run, k.update, wait)
	if err != nil {
		return err
	}
	k.verdict = engine.VerdictAccepted
	shown := withVerdict{updateView{u, stamp(u.ReceivedAt), stampOf(u.ResolvedAt)}, engine.VerdictAccepted}
	return writeJSON(c, updateStatus(u.State), shown)
}

// updateWithStart starts a run, or attaches to it, and sends it an update, in one transaction.
func (g *Gateway) updateWithStart(c *fiber.Ctx, k *call) error {
	const member = "update"
	wait, err := waitOf(c)
	if err != nil {
		return err
	}
	w, err := g.withStartOf(c, k, member)
	if err != nil {
		return err
	}
	r, err := k.handle.UpdateWithStart(c.UserContext(), w.start, engine.UpdateRequest{
		UpdateID: spec.UpdateID(w.id), Name: w.name, Payload: w.payload, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return w.refused(member, err)
	}
	c.Set(fiber.HeaderLocation, "/v1/runs/"+url.PathEscape(string(r.Run.RunID)))
	body, err := g.updated(c, k, r, wait)
	if err != nil {
		return err
	}
	status := updateStatus(body.State)
	if r.StartedFresh {
		status = http.StatusCreated
	}
	return writeJSON(c, status, updateStarted{body, r.StartedFresh})
}
