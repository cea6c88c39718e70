-- name: AppendAudit :exec
-- Rows of the audit trail. Of a row without a run, the run is that of its name, if there is one; one without a time has the
-- time now. Where foreseen, a row is added only if this transaction has appended the event of its seq, at whose time it is
-- then: what was decided before the lock is left out where the run was not as known.
INSERT INTO audit (at, namespace, run, run_id, kind, name, identity, seq, verdict, why, actor, source, method, credential,
    payload_digest, subject_digest, request_id, trace, peer)
SELECT coalesce(e.at, nullif(u.at, '0001-01-01T00:00:00Z'::timestamptz), clock_timestamp()), u.namespace, k.run, u.run_id, u.kind, u.name,
    u.identity, u.seq, u.verdict, u.why, u.actor, u.source, u.method, u.credential, nullif(u.payload_digest, ''::bytea),
    nullif(u.subject_digest, ''::bytea), u.request_id, u.trace, u.peer
FROM ROWS FROM (
    unnest(@ats::timestamptz[]), unnest(@namespaces::text[]), unnest(@runs::bigint[]), unnest(@run_ids::text[]),
    unnest(@kinds::text[]), unnest(@names::text[]), unnest(@identities::text[]), unnest(@seqs::bigint[]),
    unnest(@verdicts::text[]), unnest(@whys::text[]), unnest(@actors::text[]), unnest(@sources::text[]),
    unnest(@methods::text[]), unnest(@credentials::text[]), unnest(@payload_digests::bytea[]),
    unnest(@subject_digests::bytea[]), unnest(@request_ids::text[]), unnest(@traces::text[]), unnest(@peers::text[])
) AS u (at, namespace, run, run_id, kind, name, identity, seq, verdict, why, actor, source, method, credential, payload_digest,
    subject_digest, request_id, trace, peer)
CROSS JOIN LATERAL (
    SELECT coalesce(
        nullif(u.run, 0), (SELECT r.id FROM runs AS r WHERE r.namespace = u.namespace AND r.run_id = u.run_id LIMIT 1)
    ) AS run
) AS k
LEFT JOIN LATERAL (
    SELECT e1.at FROM events AS e1
    WHERE @foreseen::boolean AND e1.run = k.run AND e1.seq = u.seq AND e1.xmin = pg_current_xact_id()::xid
    LIMIT 1
) AS e ON true
WHERE NOT @foreseen::boolean OR e.at IS NOT NULL;

-- name: ListAudit :many
-- Newest first, of a namespace, down to a floor. An empty filter passes everything.
SELECT a.* FROM audit AS a
WHERE a.namespace = @namespace AND -a.id > -(@before::bigint) AND -a.id < -(@floor::bigint)
    AND (@kind::text = '' OR a.kind = @kind::text)
    AND (@verdict::text = '' OR a.verdict = @verdict::text)
    AND a.at >= @since::timestamptz
ORDER BY -a.id LIMIT @count::bigint;

-- name: ListRunAudit :many
-- As ListAudit, of one run.
SELECT a.* FROM audit AS a
WHERE a.run = @run AND -a.id > -(@before::bigint) AND -a.id < -(@floor::bigint)
    AND (@kind::text = '' OR a.kind = @kind::text)
    AND (@verdict::text = '' OR a.verdict = @verdict::text)
    AND a.at >= @since::timestamptz
ORDER BY -a.id LIMIT @count::bigint;

-- name: AuditFloor :many
-- The first row that a page of a filtered list does not look at.
SELECT a.id, a.at FROM audit AS a
WHERE a.namespace = @namespace AND -a.id > -(@before::bigint)
ORDER BY -a.id LIMIT 1 OFFSET @look::bigint;

-- name: RunAuditFloor :many
-- As AuditFloor, of one run.
SELECT a.id, a.at FROM audit AS a
WHERE a.run = @run AND -a.id > -(@before::bigint)
ORDER BY -a.id LIMIT 1 OFFSET @look::bigint;

-- name: RunRefusals :many
-- The last refusals of messages to a run. That a verdict is not accepted is the condition of the index.
SELECT a.* FROM audit AS a
WHERE a.run = @run AND a.verdict <> 'accepted'
ORDER BY -a.id LIMIT @count::bigint;

-- name: ReadTraces :many
-- The traces of the messages that a run accepted in some events, as far as they are among its last rows.
SELECT l.seq, l.trace FROM (
    SELECT a.seq, a.trace FROM audit AS a WHERE a.run = @run ORDER BY -a.id LIMIT @count::bigint
) AS l
WHERE l.seq = ANY (@seqs::bigint[]) AND l.trace <> '';

-- name: AllowRetention :exec
-- In this transaction, old rows of the trail may go.
SELECT set_config('flowgate.retention', 'on', true);

-- name: SweepAudit :many
-- A few of the oldest rows, if they are old enough. Rows are about as old as their numbers say.
DELETE FROM audit AS a USING (
    SELECT o.id, o.at FROM audit AS o WHERE o.id > 0 ORDER BY o.id LIMIT @most::bigint FOR UPDATE SKIP LOCKED
) AS old
WHERE a.id = ANY (ARRAY[old.id]) AND old.at < statement_timestamp() - (@keep::float8) * interval '1 second'
RETURNING a.id;
