-- Updates: what accepting and advancing ask of them and write, and what callers read. Arrays are parallel; what is said of
-- the statements in accept.sql holds here, too.

-- name: KnownUpdates :many
SELECT u.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@update_ids::text[])) AS k (namespace, run_id, update_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs AS r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT u1.* FROM updates AS u1 WHERE u1.run = r.id AND u1.update_id = k.update_id LIMIT 1
) AS u;

-- name: OpenUpdates :many
SELECT u.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs AS r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT u1.* FROM updates AS u1 WHERE u1.run = r.id AND u1.resolved_at IS NULL OFFSET 0
) AS u;

-- name: CountOpenUpdates :many
SELECT r.id AS run, open.updates
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs AS r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT count(*) AS updates FROM updates AS u1 WHERE u1.run = r.id AND u1.resolved_at IS NULL OFFSET 0
) AS open;

-- name: InsertUpdates :exec
-- An update that is ended in the batch that brought it comes with its end. The zero time and 0 stand for none.
INSERT INTO updates (run, update_id, name, digest, seq, received_at, source, actor, state, resolved_at, resolved_seq)
SELECT u.run, u.update_id, u.name, u.digest, u.seq, u.received_at, u.source, u.actor, u.state,
    nullif(u.resolved_at, '0001-01-01T00:00:00Z'::timestamptz), nullif(u.resolved_seq, 0)
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@update_ids::text[]), unnest(@names::text[]), unnest(@digests::bytea[]),
    unnest(@seqs::bigint[]), unnest(@received_ats::timestamptz[]), unnest(@sources::text[]), unnest(@actors::text[]),
    unnest(@states::text[]), unnest(@resolved_ats::timestamptz[]), unnest(@resolved_seqs::bigint[])
) AS u (run, update_id, name, digest, seq, received_at, source, actor, state, resolved_at, resolved_seq);

-- name: EndUpdates :exec
UPDATE updates AS w SET state = u.state, resolved_at = u.resolved_at, resolved_seq = u.resolved_seq
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@update_ids::text[]), unnest(@states::text[]), unnest(@resolved_ats::timestamptz[]),
    unnest(@resolved_seqs::bigint[])
) AS u (run, update_id, state, resolved_at, resolved_seq)
WHERE w.run = ANY (ARRAY[u.run]) AND w.update_id = u.update_id;

-- name: ReadUpdate :many
-- With the event that ended it, whose type is empty while none has.
SELECT u.*, coalesce(ending.type, '')::text AS ending_type, ending.data AS ending_data, ending.payload AS ending_payload
FROM (SELECT r1.id FROM runs AS r1 WHERE r1.namespace = @namespace AND r1.run_id = @run_id LIMIT 1) AS r
CROSS JOIN LATERAL (
    SELECT u1.* FROM updates AS u1 WHERE u1.run = r.id AND u1.update_id = @update_id LIMIT 1
) AS u
LEFT JOIN LATERAL (
    SELECT e1.type, e1.data, e1.payload FROM events AS e1 WHERE e1.run = u.run AND e1.seq = u.resolved_seq LIMIT 1
) AS ending ON true;

-- name: EndedUpdates :many
-- Which of these updates are not open any more.
SELECT k.namespace::text AS namespace, k.run_id::text AS run_id, k.update_id::text AS update_id
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@update_ids::text[])) AS k (namespace, run_id, update_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs AS r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT u1.run FROM updates AS u1
    WHERE u1.run = r.id AND u1.update_id = k.update_id AND u1.resolved_seq IS NOT NULL LIMIT 1
) AS u;
