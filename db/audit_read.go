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

// filters says that entries may be passed over.
func (f AuditFilter) filters() bool { return f.Kind != "" || f.Verdict != "" || !f.Since.IsZero() }

// auditLook is how many entries a page of a filtered list looks at: what is rare in a long trail must not take a read of all
// of it.
const auditLook = 10_000

// ListAudit lists entries of the audit trail of one namespace, the newest first. The cursor for the next page is empty on
// the last one. A page of a filtered list looks at 10,000 entries: it may have fewer than the limit, or none, and a cursor.
// Errors: *spec.InvalidError for a bad cursor, history.ErrRunNotFound where a run is named, ErrUnavailable,
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
	rows, floor, err := s.listAudit(ctx, f, params)
	if err != nil {
		return nil, "", readError(err, nil)
	}
	rows, next = page(rows, limit, auditCursor, func(r sqlc.Audit) int64 { return r.ID })
	if next == "" && floor.ID > 0 && floor.At.After(f.Since.Add(-outOfOrder)) {
		next = auditCursor.cursor(floor.ID + 1)
	}
	for _, r := range rows {
		found = append(found, auditEntry(r))
	}
	return found, next, nil
}

// outOfOrder is by how much, at most, an entry may be older than the one before it in the trail: a transaction takes its
// numbers when it writes, and its time before.
const outOfOrder = time.Minute

// listAudit reads a page, and which entry it does not look at any more; that is zero where it looks at all.
func (s *Store) listAudit(
	ctx context.Context, f AuditFilter, p sqlc.ListAuditParams,
) (rows []sqlc.Audit, floor sqlc.AuditFloorRow, err error) {
	if f.RunID != "" {
		return s.listRunAudit(ctx, f, p)
	}
	if f.filters() {
		floors, err := statements.AuditFloor(ctx, replanned{s.pool}, sqlc.AuditFloorParams{Namespace: p.Namespace, Before: p.Before, Look: auditLook})
		if err != nil {
			return nil, floor, err
		}
		for _, floor = range floors {
			p.Floor = floor.ID
		}
	}
	rows, err = statements.ListAudit(ctx, replanned{s.pool}, p)
	return rows, floor, err
}

func (s *Store) listRunAudit(
	ctx context.Context, f AuditFilter, p sqlc.ListAuditParams,
) (rows []sqlc.Audit, floor sqlc.AuditFloorRow, err error) {
	run, err := lookUpOne[sqlc.Run](
		ctx, s, sqlc.ReadRun, sqlc.ReadRunParams{Namespace: p.Namespace, RunID: string(f.RunID)}, history.ErrRunNotFound)
	if err != nil {
		return nil, floor, err
	}
	if f.filters() {
		floors, err := statements.RunAuditFloor(ctx, replanned{s.pool}, sqlc.RunAuditFloorParams{Run: &run.ID, Before: p.Before, Look: auditLook})
		if err != nil {
			return nil, floor, err
		}
		for _, below := range floors {
			floor, p.Floor = sqlc.AuditFloorRow(below), below.ID
		}
	}
	rows, err = statements.ListRunAudit(ctx, replanned{s.pool}, sqlc.ListRunAuditParams{
		Run: &run.ID, Before: p.Before, Floor: p.Floor, Kind: p.Kind, Verdict: p.Verdict, Since: p.Since, Count: p.Count,
	})
	return rows, floor, err
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
