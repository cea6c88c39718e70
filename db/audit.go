package db

import (
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// AuditKind says what an entry of the audit trail is about. The set is closed.
type AuditKind string

// The kinds.
const (
	AuditStart           AuditKind = "start"
	AuditSignal          AuditKind = "signal"
	AuditUpdate          AuditKind = "update"
	AuditHookResume      AuditKind = "hook_resume"
	AuditHookDispose     AuditKind = "hook_dispose"
	AuditCancel          AuditKind = "cancel"
	AuditTerminate       AuditKind = "terminate"
	AuditRetry           AuditKind = "retry"
	AuditLetterReplayed  AuditKind = "letter_replayed"
	AuditLetterDiscarded AuditKind = "letter_discarded"
	AuditTokenMinted     AuditKind = "token_minted"
	AuditKeyCreated      AuditKind = "api_key_created"
	AuditKeyRevoked      AuditKind = "api_key_revoked"
)

// AuditKinds returns every kind there is.
func AuditKinds() []AuditKind {
	return []AuditKind{
		AuditStart, AuditSignal, AuditUpdate, AuditHookResume, AuditHookDispose, AuditCancel, AuditTerminate, AuditRetry,
		AuditLetterReplayed, AuditLetterDiscarded, AuditTokenMinted, AuditKeyCreated, AuditKeyRevoked,
	}
}

// AuditEntry is one entry of the audit trail: a message, or something else that was done, who asked for it, and what was
// said.
type AuditEntry struct {
	ID            int64 // of a stored one; they grow
	At            time.Time
	Namespace     spec.Namespace
	RunID         spec.RunID // empty: of no run
	Kind          AuditKind
	Name          string // of the signal, the update, or the hook; of a start, the workflow
	Identity      string // of the message
	Seq           int64  // of the event that holds it; 0: none
	Verdict       history.Verdict
	Why           string // of a refusal
	Actor         string
	Source        string
	PayloadDigest *canon.Digest
	Trail         Trail

	run int64 // 0: not known
}

// auditRows are entries to be written by one statement.
type auditRows struct {
	params sqlc.AppendAuditParams
}

func (a *auditRows) add(e AuditEntry) {
	p, t := &a.params, e.Trail
	actor, method := e.Actor, t.Method
	if actor == "" {
		actor = t.Actor
	}
	if method == "" {
		method = methodHost
	}
	p.Ats = append(p.Ats, e.At)
	p.Namespaces = append(p.Namespaces, string(e.Namespace))
	p.Runs = append(p.Runs, e.run)
	p.RunIds = append(p.RunIds, string(e.RunID))
	p.Kinds = append(p.Kinds, string(e.Kind))
	p.Names = append(p.Names, e.Name)
	p.Identities = append(p.Identities, e.Identity)
	p.Seqs = append(p.Seqs, e.Seq)
	p.Verdicts = append(p.Verdicts, string(e.Verdict))
	p.Whys = append(p.Whys, e.Why)
	p.Actors = append(p.Actors, actor)
	p.Sources = append(p.Sources, e.Source)
	p.Methods = append(p.Methods, method)
	p.Credentials = append(p.Credentials, t.Credential)
	p.PayloadDigests = append(p.PayloadDigests, digestBytes(e.PayloadDigest))
	p.SubjectDigests = append(p.SubjectDigests, t.SubjectDigest)
	p.RequestIds = append(p.RequestIds, t.RequestID)
	p.Traces = append(p.Traces, t.Trace)
	p.Peers = append(p.Peers, t.Peer)
}

// methodHost is that of the host's own calls.
const methodHost = "host"

func digestBytes(d *canon.Digest) []byte {
	if d == nil {
		return nil
	}
	return d[:]
}

func (a *auditRows) queue(p *pipeline) {
	if len(a.params.Kinds) > 0 {
		p.exec(sqlc.AppendAudit, a.params)
	}
}

// accepted adds what there is to say of an accepted message, to a run that may not be known by its number.
func (a *auditRows) accepted(run int64, m history.Message, receipt history.Receipt, trail *Trail) {
	if with, ok := m.(*history.StartWith); ok {
		if receipt.StartedFresh {
			first := receipt
			first.Sequence = 1
			a.accepted(run, with.Start, first, trail)
		}
		m = with.Send
	}
	e, ok := MessageEntry(m)
	if !ok {
		return
	}
	e.run, e.At, e.Seq, e.Verdict, e.Trail = run, receipt.ReceivedAt, receipt.Sequence, history.Accepted, *trail
	a.add(e)
}

// MessageEntry is an entry about a message, without what became of it; false for a message that nobody sent: what a worker
// says of its tasks.
func MessageEntry(m history.Message) (AuditEntry, bool) {
	key := m.Target()
	e := AuditEntry{Namespace: key.Namespace, RunID: key.RunID}
	switch m := m.(type) {
	case *history.StartRun:
		e.Kind, e.Name, e.Identity, e.Actor = AuditStart, m.Workflow, string(key.RunID), m.Actor
		e.digest(m.Input)
	case *history.SendSignal:
		e.Kind, e.Name, e.Identity, e.Source, e.Actor = AuditSignal, m.Name, string(m.ID), m.Source, m.Actor
		e.digest(m.Payload)
	case *history.SendUpdate:
		e.Kind, e.Name, e.Identity, e.Source, e.Actor = AuditUpdate, m.Name, string(m.ID), m.Source, m.Actor
		e.digest(m.Payload)
	case *history.ResumeHook:
		e.Kind, e.Name, e.Identity, e.Source, e.Actor = AuditHookResume, string(m.HookID), string(m.HookID), m.Source, m.Actor
		e.digest(m.Payload)
	case *history.DisposeHook:
		e.Kind, e.Name, e.Identity, e.Source, e.Actor = AuditHookDispose, string(m.HookID), string(m.HookID), m.Source, m.Actor
	case *history.CancelRun:
		e.Kind, e.Actor = AuditCancel, m.Actor
		if m.Terminate {
			e.Kind = AuditTerminate
		}
	case *history.RetryRun:
		e.Kind = AuditRetry
	case *history.ReplayTask:
		e.Kind, e.Name, e.Identity, e.Actor = AuditLetterReplayed, m.Task.ID, m.Task.ID, m.Actor
	case *history.DiscardTask:
		e.Kind, e.Name, e.Identity, e.Actor = AuditLetterDiscarded, m.Task.ID, m.Task.ID, m.Actor
	case *history.StartWith:
		return MessageEntry(m.Send)
	default:
		return e, false
	}
	return e, true
}

func (e *AuditEntry) digest(p canon.Payload) {
	d := p.Digest()
	e.PayloadDigest = &d
}
