package history

import (
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// readRun reads what an event says of the run's record. It knows no rule.
func (p *Projection) readRun(e Event, digest canon.Digest) {
	r, at := &p.run, e.At
	r.Generation, r.NextSeq, r.UpdatedAt = e.Generation, e.Seq+1, at
	switch d := e.Data.(type) {
	case *RunStarted:
		r.Workflow, r.Version, r.SpecDigest, r.Labels = d.Workflow, d.Version, d.SpecDigest, d.Labels
		r.InputDigest, r.FirstSeq, r.StartedAt, r.Parent = digest, e.Seq, at, d.Parent
	case *RunContinued:
		r.Workflow, r.Version, r.SpecDigest, r.FirstSeq = d.Workflow, d.Version, d.SpecDigest, e.Seq
	case *RunCompleted:
		p.readEnd(e, Completed)
	case *RunFailed:
		p.readEnd(e, Failed)
	case *RunCancelled:
		p.readEnd(e, Cancelled)
	case *RunCancelRequested:
		if r.CancelRequestedAt == nil {
			r.CancelRequestedAt, r.CancelSeq = &at, e.Seq
		}
	case *RunBlocked:
		r.Status, r.BlockCause = Blocked, d.Cause
	case *RunUnblocked:
		r.Status, r.BlockCause = Running, ""
	}
}

func (p *Projection) readEnd(e Event, status Status) {
	at := e.At
	p.run.Status, p.run.ClosedAt, p.run.BlockCause = status, &at, ""
	if parent := p.run.Parent; parent != nil {
		report := parent.report(e.Generation)
		p.loose[report.TaskKey] = report
	}
}

func (p *Projection) readSignal(e Event, digest canon.Digest) {
	switch d := e.Data.(type) {
	case *SignalReceived:
		p.run.Backlog++
		p.signals[d.SignalID] = Signal{
			ID: d.SignalID, Name: d.Name, Digest: digest, Seq: e.Seq, ReceivedAt: e.At, Source: d.Source, Actor: d.Actor,
		}
	case *WaitCompleted:
		p.run.Backlog--
		s := p.signals[d.SignalID]
		s.ConsumedBy = &Consumption{WaitID: d.WaitID, Generation: e.Generation}
		p.signals[d.SignalID] = s
	}
}

func (p *Projection) readHook(e Event, digest canon.Digest) {
	switch d := e.Data.(type) {
	case *HookCreated:
		p.hooks[d.HookID] = Hook{
			ID: d.HookID, Name: d.Name, Metadata: d.Metadata, Grant: d.Grant, State: StateActive,
			CreatedAt: e.At, ExpiresAt: d.ExpiresAt,
		}
	case *HookResumed:
		p.readClosing(e, d.HookID, Hook{State: StateResumed, PayloadDigest: digest, Source: d.Source, Actor: d.Actor})
	case *HookDisposed:
		p.readClosing(e, d.HookID, Hook{State: StateDisposed, Source: d.Source, Actor: d.Actor})
	case *HookExpired:
		p.readClosing(e, d.HookID, Hook{State: StateExpired})
	case *HookClosed:
		p.readClosing(e, d.HookID, Hook{State: d.Cause})
	}
}

// readClosing gives a hook what its closing says.
func (p *Projection) readClosing(e Event, id spec.HookID, closed Hook) {
	h, at := p.hooks[id], e.At
	h.State, h.PayloadDigest, h.Source, h.Actor = closed.State, closed.PayloadDigest, closed.Source, closed.Actor
	h.ResolvedAt, h.ResolvedSeq = &at, e.Seq
	p.hooks[id] = h
}
