package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
	"github.com/flowgate-go/flowgate/spec"
)

// startBody is the body of a start.
type startBody struct {
	Workflow string          `json:"workflow"`
	Version  string          `json:"version,omitempty"`
	RunID    spec.RunID      `json:"run_id,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Labels   spec.Labels     `json:"labels,omitempty"`
}

var startFields = openapi.Members(startBody{})

// startedView is the answer to a start: the run, and the receipt.
type startedView struct {
	runView
	answer
}

// startedBlind is the answer to a start whose run could not be read.
type startedBlind struct {
	RunID spec.RunID `json:"run_id"`
	answer
}

// startRun starts a run, or finds that the same start was accepted before. Without a run ID one is made, and a retry
// of such a call starts another run.
func (g *Gateway) startRun(c *fiber.Ctx, k *call) error {
	req, err := startRequest(c)
	if err != nil {
		return err
	}
	req.Actor = k.who.Actor
	started, err := k.handle.Start(c.UserContext(), req)
	if err != nil {
		return within("/input", err)
	}
	status := http.StatusCreated
	if started.Verdict == engine.VerdictDuplicate {
		status = http.StatusOK
	}
	c.Set(fiber.HeaderLocation, "/v1/runs/"+url.PathEscape(string(started.RunID)))
	said := k.settle(c, started.Verdict, outcomeAccepted, fullReceipt(started.Receipt))
	run, err := k.handle.Snapshot(c.UserContext(), started.RunID)
	if err != nil {
		// The start is committed, and a retry of a call without a run ID would start a second run.
		return writeJSON(c, status, startedBlind{started.RunID, said})
	}
	return writeJSON(c, status, startedView{viewRun(run), said})
}

// within moves the places that a refusal of a payload names to where the payload stands in the body.
func within(at string, err error) error {
	r := translate(err)
	if r.problem != malformedPayload && r.problem != payloadSchema {
		return err
	}
	return below(at, err)
}

// below moves all places that a refusal names.
func below(at string, err error) error {
	r := translate(err)
	for i := range r.violations {
		r.violations[i].FieldPath = at + r.violations[i].FieldPath
	}
	return r
}

func startRequest(c *fiber.Ctx) (engine.StartRequest, error) {
	var req engine.StartRequest
	fields, err := fieldsOf(c, startFields...)
	if err != nil {
		return req, err
	}
	if req.Workflow, err = fields.name("workflow"); err != nil {
		return req, err
	}
	if req.Workflow == "" {
		return req, &spec.InvalidError{Field: "workflow", Rule: "must be given"}
	}
	if req.Version, err = fields.name("version"); err != nil {
		return req, err
	}
	id, err := fields.name("run_id")
	if err != nil {
		return req, err
	}
	req.RunID, req.Input = spec.RunID(id), fields["input"]
	req.Labels, err = fields.labels("labels")
	return req, err
}

// listRuns lists runs, newest first.
func (g *Gateway) listRuns(c *fiber.Ctx, k *call) error {
	q, err := queryOf(c, "workflow", "status", "label", "cursor", "limit")
	if err != nil {
		return err
	}
	var want engine.RunQuery
	if want.Workflow, err = q.text("workflow"); err != nil {
		return err
	}
	if want.Status, err = q.text("status"); err != nil {
		return err
	}
	if want.Labels, err = q.labels(); err != nil {
		return err
	}
	if want.Cursor, want.Limit, err = q.page(); err != nil {
		return err
	}
	page, err := k.handle.ListRuns(c.UserContext(), want)
	if err != nil {
		return err
	}
	return k.show(c, viewPage(page, viewSummary))
}

// showRun shows a run. With ?wait it answers as soon as the run ends, or when the time is over.
func (g *Gateway) showRun(c *fiber.Ctx, k *call) error {
	q, err := queryOf(c, "wait")
	if err != nil {
		return err
	}
	wait, err := q.span("wait", maxWait)
	if err != nil {
		return err
	}
	run, err := g.snapshot(c.UserContext(), k, wait)
	if err != nil {
		return err
	}
	return k.show(c, viewRun(run))
}

// snapshot reads a run, after waiting for its end where that is asked for. Whoever finds no room to wait, or waits
// when a drain begins, gets the present state at once.
func (g *Gateway) snapshot(ctx context.Context, k *call, wait time.Duration) (engine.Snapshot, error) {
	run, err := k.handle.Snapshot(ctx, k.run)
	if err != nil || wait == 0 || run.ClosedAt != nil || g.Draining() || !g.waiters.take(k.who.Namespace) {
		return run, err
	}
	defer g.waiters.give(k.who.Namespace)

	var ended engine.Snapshot
	g.park(ctx, k, wait, func(ctx context.Context) { ended, err = k.handle.Wait(ctx, k.run) })
	if err == nil {
		return ended, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return k.handle.Snapshot(ctx, k.run)
}

// park waits in a call, at most so long and not beyond the beginning of a drain. While parked the request holds no room that
// others could work in, nor a database connection. An error of what waited says only that the present state must be read.
func (g *Gateway) park(ctx context.Context, k *call, wait time.Duration, until func(context.Context)) {
	g.inFlight.give()
	defer g.inFlight.force()
	k.share.give()
	defer k.share.force()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	defer context.AfterFunc(g.drain, cancel)()
	until(ctx)
}

// showHistory shows the events of one generation, the newest unless another is named.
func (g *Gateway) showHistory(c *fiber.Ctx, k *call) error {
	q, err := queryOf(c, "generation", "cursor", "limit")
	if err != nil {
		return err
	}
	var want engine.HistoryQuery
	if want.Generation, err = q.whole("generation", 1, 1<<31-1, 0); err != nil {
		return err
	}
	if want.Cursor, want.Limit, err = q.page(); err != nil {
		return err
	}
	page, err := k.handle.History(c.UserContext(), k.run, want)
	if err != nil {
		return err
	}
	return k.show(c, viewHistory(page))
}
