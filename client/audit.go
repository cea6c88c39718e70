package client

import (
	"context"
	"iter"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// AuditEntry is an entry of the audit trail: what was asked for, by whom, and what came of it. It has digests of payloads, and
// no payloads.
type AuditEntry struct {
	ID            string     `json:"entry_id"`
	At            time.Time  `json:"at"`
	RunID         spec.RunID `json:"run_id,omitempty"`
	Kind          string     `json:"kind"`
	Name          string     `json:"name,omitempty"`
	Identity      string     `json:"identity,omitempty"`
	Sequence      int64      `json:"sequence,omitempty"`
	Verdict       Verdict    `json:"verdict"`
	Why           string     `json:"why,omitempty"`
	Actor         string     `json:"actor,omitempty"`
	Source        string     `json:"source,omitempty"`
	Method        string     `json:"method"`
	Credential    string     `json:"credential,omitempty"`
	PayloadDigest string     `json:"payload_digest,omitempty"`
	SubjectDigest string     `json:"subject_digest,omitempty"`
	RequestID     string     `json:"request_id,omitempty"`
	Trace         string     `json:"trace,omitempty"`
	Peer          string     `json:"peer,omitempty"`
}

// AuditQuery filters the audit trail; empty fields pass everything.
type AuditQuery struct {
	RunID   spec.RunID // of this run, which must be there
	Kind    string
	Verdict Verdict
	Since   time.Time
	Cursor  string // NextCursor of the page before
	Limit   int    // of a page, at most 200; 0 is 50
}

// AuditPage lists the audit trail, the newest entry first. Errors: ErrUnknown for the run, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) AuditPage(ctx context.Context, q AuditQuery) (Page[AuditEntry], error) {
	at := "/v1/audit"
	if q.RunID != "" {
		var err error
		if at, err = runPath(q.RunID, "/audit"); err != nil {
			return Page[AuditEntry]{}, err
		}
	}
	with := parameters{}.with("kind", q.Kind).with("verdict", string(q.Verdict)).page(q.Cursor, q.Limit)
	if !q.Since.IsZero() {
		with.with("since", q.Since.UTC().Format(time.RFC3339))
	}
	return list[AuditEntry](ctx, c, at, with)
}

// Audit goes through all pages of AuditPage.
func (c *Client) Audit(ctx context.Context, q AuditQuery) iter.Seq2[AuditEntry, error] {
	return each(func(cursor string) (Page[AuditEntry], error) {
		q.Cursor = first(cursor, q.Cursor)
		return c.AuditPage(ctx, q)
	})
}
