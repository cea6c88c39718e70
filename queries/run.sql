-- What accepting and advancing both write. Arrays are parallel, one element per row. An array has no NULL: the zero time,
-- 0 and '' stand for it where the column may be NULL. A comparison with ANY (ARRAY[x]) in place of x keeps a plan, which is
-- made once per connection, from reading a whole index in its order because the table was nearly empty then.

-- name: AppendEvents :exec
INSERT INTO events (run, seq, generation, type, at, data, payload)
SELECT u.run, u.seq, u.generation, u.type, u.at, u.data, u.payload
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@seqs::bigint[]), unnest(@generations::integer[]), unnest(@types::text[]),
    unnest(@ats::timestamptz[]), unnest(@datas::json[]), unnest(@payloads::bytea[])
) AS u (run, seq, generation, type, at, data, payload);

-- name: UpdateRuns :exec
UPDATE runs r SET
    status = u.status,
    generation = u.generation,
    first_seq = u.first_seq,
    next_seq = u.next_seq,
    backlog = u.backlog,
    cancel_requested_at = nullif(u.cancel_requested_at, '0001-01-01T00:00:00Z'::timestamptz),
    cancel_seq = nullif(u.cancel_seq, 0),
    block_cause = nullif(u.block_cause, ''),
    block_diagnosis = nullif(u.block_diagnosis, ''),
    block_attempts = u.block_attempts,
    wake_at = nullif(u.wake_at, '0001-01-01T00:00:00Z'::timestamptz),
    updated_at = u.updated_at,
    closed_at = nullif(u.closed_at, '0001-01-01T00:00:00Z'::timestamptz)
FROM ROWS FROM (
    unnest(@ids::bigint[]), unnest(@statuses::text[]), unnest(@generations::integer[]), unnest(@first_seqs::bigint[]),
    unnest(@next_seqs::bigint[]), unnest(@backlogs::integer[]), unnest(@cancel_requested_ats::timestamptz[]),
    unnest(@cancel_seqs::bigint[]), unnest(@block_causes::text[]), unnest(@block_diagnoses::text[]),
    unnest(@block_attempts::integer[]),
    unnest(@wake_ats::timestamptz[]), unnest(@updated_ats::timestamptz[]), unnest(@closed_ats::timestamptz[])
) AS u (id, status, generation, first_seq, next_seq, backlog, cancel_requested_at, cancel_seq, block_cause,
    block_diagnosis, block_attempts, wake_at, updated_at, closed_at)
WHERE r.id = ANY (ARRAY[u.id]);

-- name: Unschedule :exec
-- What the locked rows of runs had as their wake_at.
DELETE FROM due AS d
USING ROWS FROM (
    unnest(@workflows::text[]), unnest(@versions::text[]), unnest(@wake_ats::timestamptz[]), unnest(@runs::bigint[])
) AS u (workflow, version, wake_at, run)
WHERE d.workflow = ANY (ARRAY[u.workflow]) AND d.version = u.version AND d.wake_at = u.wake_at AND d.run = u.run;

-- name: Schedule :exec
-- What the locked rows of runs have as their wake_at from now on.
INSERT INTO due (workflow, version, wake_at, run, blocked)
SELECT u.workflow, u.version, u.wake_at, u.run, u.blocked
FROM ROWS FROM (
    unnest(@workflows::text[]), unnest(@versions::text[]), unnest(@wake_ats::timestamptz[]), unnest(@runs::bigint[]),
    unnest(@blockeds::boolean[])
) AS u (workflow, version, wake_at, run, blocked);

-- name: SettleHooks :exec
UPDATE hooks h SET
    state = u.state,
    payload_digest = nullif(u.payload_digest, ''::bytea),
    resolved_at = u.resolved_at,
    resolved_seq = u.resolved_seq,
    source = u.source,
    actor = u.actor
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@hook_ids::text[]), unnest(@states::text[]), unnest(@payload_digests::bytea[]),
    unnest(@resolved_ats::timestamptz[]), unnest(@resolved_seqs::bigint[]), unnest(@sources::text[]), unnest(@actors::text[])
) AS u (run, hook_id, state, payload_digest, resolved_at, resolved_seq, source, actor)
WHERE h.run = ANY (ARRAY[u.run]) AND h.hook_id = u.hook_id;
