package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// AuditFilter says which entries of the audit trail to list. Empty fields pass everything.
type AuditFilter struct {
	Namespace spec.Namespace // required
	RunID     spec.RunID
	Kind      AuditKind
	Verdict   history.Verdict
	Since     time.Time
	Cursor    string // of the page before
	Limit     int    // at most 1,000, default 50
}

// ListAudit lists entries of the audit trail of one namespace, the newest first. The cursor for the next page is empty on
// the last one. Errors: *spec.InvalidError for a bad cursor, history.ErrRunNotFound where a run is named, ErrUnavailable,
// *DatabaseError.
func (s *Store) ListAudit(ctx context.Context, f AuditFilter) (found []AuditEntry, next string, err error) {
	before, err := auditCursor.before(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(f.Limit)
	params := sqlc.ListAuditParams{
		Namespace: string(f.Namespace), Before: before, Kind: string(f.Kind), Verdict: string(f.Verdict), Since: f.Since, Count: int64(limit) + 1,
	}
	rows, err := s.listAudit(ctx, f.RunID, params)
	if err != nil {
		return nil, "", readError(err, nil)
	}
	rows, next = page(rows, limit, auditCursor, func(r sqlc.Audit) int64 { return r.ID })
	for _, r := range rows {
		found = append(found, auditEntry(r))
	}
	return found, next, nil
}

func (s *Store) listAudit(ctx context.Context, run spec.RunID, f sqlc.ListAuditParams) ([]sqlc.Audit, error) {
	if run == "" {
		return statements.ListAudit(ctx, replanned{s.pool}, f)
	}
	row, err := lookUpOne[sqlc.Run](ctx, s, sqlc.ReadRun, sqlc.ReadRunParams{Namespace: f.Namespace, RunID: string(run)}, history.ErrRunNotFound)
	if err != nil {
		return nil, err
	}
	return statements.ListRunAudit(ctx, replanned{s.pool}, sqlc.ListRunAuditParams{
		Run: &row.ID, Before: f.Before, Kind: f.Kind, Verdict: f.Verdict, Since: f.Since, Count: f.Count,
	})
}

// RunRefusals reads the last refusals of messages to a run, the newest first. Errors: history.ErrRunNotFound, ErrUnavailable,
// *DatabaseError.
func (s *Store) RunRefusals(ctx context.Context, run history.RunKey, most int) ([]AuditEntry, error) {
	row, err := lookUpOne[sqlc.Run](ctx, s, sqlc.ReadRun, sqlc.ReadRunParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID),
	}, history.ErrRunNotFound)
	if err != nil {
		return nil, err
	}
	rows, err := lookUp[sqlc.Audit](ctx, s, sqlc.RunRefusals, sqlc.RunRefusalsParams{Run: &row.ID, Count: int64(most)})
	if err != nil {
		return nil, err
	}
	found := make([]AuditEntry, len(rows))
	for i, r := range rows {
		found[i] = auditEntry(r)
	}
	return found, nil
}

func auditEntry(r sqlc.Audit) AuditEntry {
	e := AuditEntry{
		ID: r.ID, At: r.At.UTC(), Namespace: spec.Namespace(r.Namespace), RunID: spec.RunID(r.RunID), Kind: AuditKind(r.Kind),
		Name: r.Name, Identity: r.Identity, Seq: r.Seq, Verdict: history.Verdict(r.Verdict), Why: r.Why, Actor: r.Actor,
		Source: r.Source, run: orZero(r.Run),
		Trail: Trail{
			Method: r.Method, Credential: r.Credential, RequestID: r.RequestID, Trace: r.Trace, Peer: r.Peer,
			SubjectDigest: r.SubjectDigest,
		},
	}
	if len(r.PayloadDigest) == len(canon.Digest{}) {
		d := canon.Digest(r.PayloadDigest)
		e.PayloadDigest = &d
	}
	return e
}

// recentRows is how far back ReadTraces looks.
const recentRows = 1000

// ReadTraces reads the traces of messages that a run has accepted, by the sequences of their events: of those that are among
// the last 1,000 entries of the run and have one. Errors: history.ErrRunNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ReadTraces(ctx context.Context, run history.RunKey, seqs []int64) (map[int64]string, error) {
	row, err := lookUpOne[sqlc.Run](ctx, s, sqlc.ReadRun, sqlc.ReadRunParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID),
	}, history.ErrRunNotFound)
	if err != nil {
		return nil, err
	}
	rows, err := lookUp[sqlc.ReadTracesRow](ctx, s, sqlc.ReadTraces, sqlc.ReadTracesParams{Run: &row.ID, Count: recentRows, Seqs: seqs})
	if err != nil {
		return nil, err
	}
	traces := make(map[int64]string, len(rows))
	for _, r := range rows {
		traces[r.Seq] = r.Trace
	}
	return traces, nil
}

// SweepAudit lets at most so many entries of the audit trail go that are older than keep, the oldest first, and says how many
// went. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) SweepAudit(ctx context.Context, most int, keep time.Duration) (int, error) {
	var rows *[]int64
	err := s.transact(ctx, transactionTime, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		p.exec(sqlc.AllowRetention, nil)
		rows = queueValues[int64](p, sqlc.SweepAudit, sqlc.SweepAuditParams{Most: int64(most), Keep: keep.Seconds()})
		p.commit()
		return p.send(ctx, conn)
	})
	if err != nil {
		return 0, translate(err)
	}
	return len(*rows), nil
}
