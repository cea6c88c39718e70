package engine

import (
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/spec"
)

// AuditKind says what an entry of the audit trail is about. The set is closed.
type AuditKind = db.AuditKind

// AuditKinds returns every kind there is.
func AuditKinds() []AuditKind { return db.AuditKinds() }

// AuditEntry is one entry of the audit trail: a message that was accepted or refused, or something else that was done. Its
// JSON is the entry of the HTTP contract. It holds digests of payloads, never a payload or a secret.
type AuditEntry struct {
	ID            string     `json:"entry_id"`
	At            time.Time  `json:"at"`
	RunID         spec.RunID `json:"run_id,omitempty"`
	Kind          AuditKind  `json:"kind"`
	Name          string     `json:"name,omitempty"`     // of the signal, the update or the hook; of a start, the workflow
	Identity      string     `json:"identity,omitempty"` // of the message: what makes a repeated one a duplicate
	Sequence      int64      `json:"sequence,omitempty"` // of the event that holds it
	Verdict       Verdict    `json:"verdict"`
	Why           string     `json:"why,omitempty"` // of a refusal, as a code
	Actor         string     `json:"actor,omitempty"`
	Source        string     `json:"source,omitempty"`
	Method        string     `json:"method"`               // how the caller proved who it is
	Credential    string     `json:"credential,omitempty"` // the public name of what it proved it with
	PayloadDigest string     `json:"payload_digest,omitempty"`
	SubjectDigest string     `json:"subject_digest,omitempty"` // of what a person was shown
	RequestID     string     `json:"request_id,omitempty"`
	Trace         string     `json:"trace,omitempty"`
	Peer          string     `json:"peer,omitempty"` // the network that the request came from
}

// AuditQuery filters the audit trail; empty fields pass everything.
type AuditQuery struct {
	RunID   spec.RunID
	Kind    string
	Verdict string
	Since   time.Time
	Cursor  string // NextCursor of the page before
	Limit   int    // at most 200; 0 means 50
}

// Audit lists the audit trail of the namespace or of one run, the newest first. Refusals come a moment after they were given.
// A page of a filtered list looks at 10,000 entries: it may have few items or none, and still a cursor.
// Errors: *InvalidError, ErrRunNotFound where a run is named, ErrUnavailable.
func (h *Handle) Audit(ctx context.Context, q AuditQuery) (Page[AuditEntry], error) {
	if err := checkAuditQuery(&q); err != nil {
		return Page[AuditEntry]{}, err
	}
	entries, next, err := h.e.store.ListAudit(ctx, db.AuditFilter{
		Namespace: h.ns, RunID: q.RunID, Kind: AuditKind(q.Kind), Verdict: Verdict(q.Verdict), Since: q.Since,
		Cursor: q.Cursor, Limit: q.Limit,
	})
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	return page(entries, next, showAudit), nil
}

func checkAuditQuery(q *AuditQuery) error {
	if q.RunID != "" {
		if err := q.RunID.Validate(); err != nil {
			return err
		}
	}
	if q.Kind != "" && !slices.Contains(AuditKinds(), AuditKind(q.Kind)) {
		kinds := make([]string, 0, len(AuditKinds()))
		for _, k := range AuditKinds() {
			kinds = append(kinds, string(k))
		}
		return &InvalidError{Field: "kind", Rule: "must be one of " + strings.Join(kinds, ", ")}
	}
	switch Verdict(q.Verdict) {
	case "", VerdictAccepted, VerdictConflict, VerdictGone, VerdictUnknown, VerdictInvalid, VerdictDenied:
	default:
		return &InvalidError{Field: "verdict", Rule: "must be accepted, conflict, gone, unknown, invalid or denied"}
	}
	return checkLimit(&q.Limit)
}

func showAudit(e db.AuditEntry) AuditEntry {
	shown := AuditEntry{
		ID: strconv.FormatInt(e.ID, 10), At: e.At, RunID: e.RunID, Kind: e.Kind, Name: e.Name, Identity: e.Identity,
		Sequence: e.Seq, Verdict: e.Verdict, Why: e.Why, Actor: e.Actor, Source: e.Source, Method: e.Trail.Method,
		Credential: e.Trail.Credential, RequestID: e.Trail.RequestID, Trace: e.Trail.Trace, Peer: e.Trail.Peer,
		SubjectDigest: hex.EncodeToString(e.Trail.SubjectDigest),
	}
	if e.PayloadDigest != nil {
		shown.PayloadDigest = hex.EncodeToString(e.PayloadDigest[:])
	}
	return shown
}
