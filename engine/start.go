package engine

import (
	"context"
	"errors"
	"maps"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// StartRequest opens a run.
type StartRequest struct {
	Workflow string
	Version  string      // empty: the version registered last
	RunID    spec.RunID  // the caller's name of the run; empty: Config.NewID makes one, and a retry starts another run
	Input    []byte      // JSON; nil stands for null
	Labels   spec.Labels // searchable; not compared on a retry
	Actor    string      // optional: the verified principal, at most 255 bytes
}

// Started is the answer to Start.
type Started struct {
	RunID   spec.RunID
	Verdict Verdict // VerdictAccepted, or VerdictDuplicate when the run was there
	Receipt Receipt
}

// Start opens a run against the stored spec of a workflow; this process need not have its code. A nil error means that
// the run is committed.
//
// It is idempotent by RunID: starting again with the same workflow, input and, where named, version is a duplicate, in
// whatever state the run is and whatever was registered since; anything else is *RunConflictError.
//
// Errors of form: *InvalidError, *PayloadError, ErrPayloadTooLarge. Of the workflow: ErrWorkflowNotFound, and
// *SchemaError when the input breaks its schema. Else ErrUnavailable, after which the same call is safe to repeat if it
// named the run.
func (h *Handle) Start(ctx context.Context, req StartRequest) (s Started, err error) {
	defer func() { h.e.figures.received(MessageStart, s.Verdict, err) }()
	m, err := h.start(req)
	if err != nil {
		return Started{}, err
	}
	if refusal := h.e.resolve(ctx, m); refusal != nil {
		receipt, err := h.e.startedBefore(ctx, m, refusal)
		h.e.noteRefusal(ctx, m, err)
		return started(receipt), err
	}
	receipt, err := h.e.accept(ctx, m)
	return started(receipt), err
}

func started(r Receipt) Started {
	return Started{RunID: r.Run.RunID, Verdict: r.Verdict, Receipt: r}
}

// start checks the form of a request. The message still lacks what the stored spec decides.
func (h *Handle) start(req StartRequest) (*history.StartRun, error) {
	if err := spec.CheckName("workflow", req.Workflow); err != nil {
		return nil, err
	}
	if req.Version != "" {
		if err := spec.CheckName("version", req.Version); err != nil {
			return nil, err
		}
	}
	if req.RunID == "" {
		req.RunID = spec.RunID(h.e.cfg.NewID())
	}
	key, err := h.key(req.RunID)
	if err != nil {
		return nil, err
	}
	if err := req.Labels.Validate(); err != nil {
		return nil, err
	}
	if err := checkSource("", req.Actor); err != nil {
		return nil, err
	}
	input, err := h.parseInput(req.Input)
	if err != nil {
		return nil, err
	}
	return &history.StartRun{
		Run: key, Workflow: req.Workflow, Version: req.Version, NamedVersion: req.Version != "",
		Input: input, Labels: maps.Clone(req.Labels), Actor: req.Actor, // the map is the caller's
	}, nil
}

func (h *Handle) parseInput(raw []byte) (canon.Payload, error) {
	if raw == nil {
		raw = []byte("null")
	}
	return h.parse(raw)
}

// resolve completes the message from the stored spec and checks the input against its schema.
func (e *Engine) resolve(ctx context.Context, m *history.StartRun) error {
	found, err := e.versions.find(ctx, Code{Workflow: m.Workflow, Version: m.Version}, e.authorities)
	if err != nil {
		return err
	}
	m.Version, m.SpecDigest = found.ref.Version, found.ref.Digest
	return found.auth.CheckInput(m.Input)
}

// startedBefore answers a start that today's stored specs refuse. A run that is there was started against a spec of its
// own, so its retry is judged against the run: known identity comes first. Only where there is no run the refusal stands.
func (e *Engine) startedBefore(ctx context.Context, m *history.StartRun, refusal error) (Receipt, error) {
	var schemaError *SchemaError
	if !errors.Is(refusal, ErrWorkflowNotFound) && !errors.As(refusal, &schemaError) {
		return Receipt{}, refusal
	}
	run, err := e.store.ReadRun(ctx, m.Run)
	switch {
	case errors.Is(err, ErrRunNotFound):
		return Receipt{}, refusal
	case err != nil:
		return Receipt{}, err
	}
	known := history.Records{Run: run.Run, Known: true}
	return known.Accept(m, nil, e.limits, run.UpdatedAt)
}
