package engine_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
	"github.com/flowgate-go/flowgate/spec"
)

// scheduleDiffers counts where the runs of some namespaces and the table due say different things, and entries of no run.
const scheduleDiffers = `select count(*) from due d full join runs r on r.id = d.run and r.workflow = d.workflow
	and r.version = d.version and r.wake_at = d.wake_at and d.blocked = (r.status = 'blocked')
	where r.id is null or d.run is null and r.wake_at is not null and r.namespace = any($1)`

// spaces are the namespaces of a trace.
func spaces(trace string) []string {
	return []string{string(proof.Namespace(trace, 0)), string(proof.Namespace(trace, 1))}
}

// records reads all that is stored of the runs of a trace, and looks whether the schedule is theirs.
func (w *world) records(trace string) (map[history.RunKey]proof.Record, error) {
	ctx, cancel := w.ctx()
	defer cancel()
	r := &recordReader{byID: map[int64]*proof.Record{}}
	batch := &pgx.Batch{}
	spaces := spaces(trace)
	ask := func(sql string, each func(pgx.CollectableRow) (struct{}, error)) {
		batch.Queue(sql, spaces).Query(func(rows pgx.Rows) error {
			_, err := pgx.CollectRows(rows, each)
			return err
		})
	}
	ask(`select id, namespace, run_id, workflow, version, spec_digest, input_digest, labels, status, generation, first_seq,
		next_seq, backlog, cancel_requested_at, coalesce(cancel_seq, 0), coalesce(block_cause, ''),
		coalesce(block_diagnosis, ''), block_attempts, wake_at, started_at, updated_at, closed_at from runs where namespace = any($1)`, r.run)
	ask(`select s.run, signal_id, name, digest, seq, received_at, source, actor, consumed_by, consumed_generation
		from runs r join signals s on s.run = r.id where r.namespace = any($1)`, r.signal)
	ask(`select t.run, t.generation, kind, task_id, name, seq, close_at, attempt, failures, strikes, run_after,
		worker is not null, held, coalesce(last_error, '') from runs r join tasks t on t.run = r.id where r.namespace = any($1)`, r.task)
	ask(`select d.run, d.generation, step_id, name, reason, code, message, attempt, created_at, state
		from dead_letters d where namespace = any($1) order by id`, r.letter)
	ask(`select u.run, update_id, name, digest, seq, received_at, source, actor, state, resolved_at,
		coalesce(resolved_seq, 0) from runs r join updates u on u.run = r.id where r.namespace = any($1)`, r.update)
	ask(`select h.run, hook_id, h.name, metadata, token_digest, digest_key, coalesce(mint_key, ''), nonce, h.state,
		coalesce(payload_digest, ''), created_at, expires_at, resolved_at, coalesce(resolved_seq, 0), source, actor
		from runs r join hooks h on h.run = r.id where r.namespace = any($1)`, r.hook)
	ask(`select e.run, e.seq, e.generation, e.type, e.at, e.data, e.payload
		from runs r join events e on e.run = r.id where r.namespace = any($1) order by e.run, e.seq`, r.event)
	batch.Queue(scheduleDiffers, spaces).QueryRow(func(row pgx.Row) error {
		var n int
		if err := row.Scan(&n); err != nil || n == 0 {
			return err
		}
		return fmt.Errorf("%d entries of the schedule are missing, left over or wrong", n)
	})
	if err := w.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	byKey := map[history.RunKey]proof.Record{}
	for _, one := range r.byID {
		byKey[one.Run.Key] = *one
	}
	return byKey, nil
}

// recordReader puts rows together by run.
type recordReader struct{ byID map[int64]*proof.Record }

func (r *recordReader) run(row pgx.CollectableRow) (none struct{}, err error) {
	var (
		id                  int64
		run                 history.Run
		specDigest, input   []byte
		labels              string
		cancel, wake, close *time.Time
	)
	err = row.Scan(&id, &run.Key.Namespace, &run.Key.RunID, &run.Workflow, &run.Version, &specDigest, &input, &labels,
		&run.Status, &run.Generation, &run.FirstSeq, &run.NextSeq, &run.Backlog, &cancel, &run.CancelSeq, &run.BlockCause,
		&run.BlockDiagnosis, &run.BlockAttempts, &wake, &run.StartedAt, &run.UpdatedAt, &close)
	copy(run.SpecDigest[:], specDigest)
	copy(run.InputDigest[:], input)
	if labels != "{}" {
		return none, fmt.Errorf("labels %s", labels)
	}
	run.CancelRequestedAt, run.WakeAt, run.ClosedAt = cancel, wake, close
	r.byID[id] = &proof.Record{
		Run: run, Signals: map[spec.SignalID]history.Signal{}, Hooks: map[spec.HookID]history.Hook{},
		Updates: map[spec.UpdateID]history.Update{}, Tasks: map[history.TaskKey]*proof.TaskRow{},
	}
	return none, err
}

func (r *recordReader) signal(row pgx.CollectableRow) (none struct{}, err error) {
	var (
		run        int64
		s          history.Signal
		digest     []byte
		by         *spec.WaitID
		generation *int
	)
	err = row.Scan(&run, &s.ID, &s.Name, &digest, &s.Seq, &s.ReceivedAt, &s.Source, &s.Actor, &by, &generation)
	copy(s.Digest[:], digest)
	if by != nil && generation != nil {
		s.ConsumedBy = &history.Consumption{WaitID: *by, Generation: *generation}
	}
	r.byID[run].Signals[s.ID] = s
	return none, err
}

func (r *recordReader) update(row pgx.CollectableRow) (none struct{}, err error) {
	var (
		run    int64
		u      history.Update
		digest []byte
	)
	err = row.Scan(&run, &u.ID, &u.Name, &digest, &u.Seq, &u.ReceivedAt, &u.Source, &u.Actor, &u.State, &u.ResolvedAt, &u.ResolvedSeq)
	copy(u.Digest[:], digest)
	r.byID[run].Updates[u.ID] = u
	return none, err
}

func (r *recordReader) hook(row pgx.CollectableRow) (none struct{}, err error) {
	var (
		run                      int64
		h                        history.Hook
		metadata, digest, answer []byte
	)
	err = row.Scan(&run, &h.ID, &h.Name, &metadata, &digest, &h.Grant.DigestKey, &h.Grant.MintKey, &h.Grant.Nonce, &h.State,
		&answer, &h.CreatedAt, &h.ExpiresAt, &h.ResolvedAt, &h.ResolvedSeq, &h.Source, &h.Actor)
	if err != nil {
		return none, err
	}
	copy(h.Grant.Digest[:], digest)
	copy(h.PayloadDigest[:], answer)
	err = json.Unmarshal(metadata, &h.Metadata)
	r.byID[run].Hooks[h.ID] = h
	return none, err
}

func (r *recordReader) event(row pgx.CollectableRow) (none struct{}, err error) {
	run, e, err := scanEvent(row)
	if err == nil {
		r.byID[run].Events = append(r.byID[run].Events, e)
	}
	return none, err
}

func scanEvent(row pgx.CollectableRow) (run int64, e history.Event, err error) {
	var (
		seq        int64
		generation int
		at         time.Time
		stored     history.Encoded
	)
	if err = row.Scan(&run, &seq, &generation, &stored.Type, &at, &stored.Data, &stored.Payload); err != nil {
		return run, e, err
	}
	e, err = history.Decode(generation, seq, at, stored)
	return run, e, err
}

// stored words the events of a run from a seq on.
func (w *world) stored(key history.RunKey, from int64) []string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `select e.run, e.seq, e.generation, e.type, e.at, e.data, e.payload
		from runs r join events e on e.run = r.id where r.namespace = $1 and r.run_id = $2 and e.seq >= $3 order by e.seq`,
		string(key.Namespace), string(key.RunID), from)
	if err != nil {
		w.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		_, e, err := scanEvent(row)
		if err != nil {
			return "", err
		}
		return proof.EventLine(e)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}
