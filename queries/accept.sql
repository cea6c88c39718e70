-- The accept side of the door. Keys come as parallel arrays in key order (namespace, run_id, byte by byte). Each key is
-- looked up by a LATERAL sub-select with a LIMIT, which the planner can neither reorder nor turn into a join that reads a
-- whole table, and which locks rows in the order of the arrays.

-- name: SetTimeouts :exec
-- Every transaction of the door begins with it. The planner has no statistics for arrays, and a plan that is kept was made
-- for the size the tables had then: without hash joins, merge joins and scans it stays on the keys, whatever the size,
-- and without JIT a plan that looks dear for want of a choice is not compiled. So one plan does for all arrays, and is made
-- once per connection: making it takes longer than running it. A process that is frozen gives its locks up.
-- The statements of the door keep the table due themselves.
SELECT set_config('lock_timeout', @lock_timeout::text, true),
    set_config('statement_timeout', @statement_timeout::text, true),
    set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true),
    set_config('enable_seqscan', 'off', true),
    set_config('idle_in_transaction_session_timeout', '10s', true),
    set_config('jit', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('flowgate.due', 'kept', true);

-- name: InsertRuns :many
-- The rows are written as they stand after their run.started: event 1 exists and a turn is due. Waits for a transaction
-- that is inserting the same key; a key that exists is left out of the answer.
WITH c AS MATERIALIZED (SELECT clock_timestamp() AS at), inserted AS (
    INSERT INTO runs (namespace, run_id, workflow, version, spec_digest, input_digest, labels, parent, next_seq, wake_at,
        started_at, updated_at)
    SELECT k.namespace, k.run_id, k.workflow, k.version, k.spec_digest, k.input_digest, k.labels,
        nullif(k.parent, 'null'::jsonb), 2, c.at, c.at, c.at
    FROM ROWS FROM (
        unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@workflows::text[]), unnest(@versions::text[]),
        unnest(@spec_digests::bytea[]), unnest(@input_digests::bytea[]), unnest(@labels::jsonb[]), unnest(@parents::jsonb[])
    ) WITH ORDINALITY AS k (namespace, run_id, workflow, version, spec_digest, input_digest, labels, parent, ord)
    CROSS JOIN c
    ORDER BY k.ord
    ON CONFLICT (namespace, run_id) DO NOTHING
    RETURNING id, namespace, run_id, workflow, version, started_at
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT i.workflow, i.version, i.started_at, i.id, false FROM inserted AS i
)
SELECT i.id, i.namespace, i.run_id, i.started_at FROM inserted AS i;

-- name: LockRuns :many
-- Rows that another transaction has locked are left out, and so are unknown keys: FindRuns tells them apart.
SELECT r.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.* FROM runs r1
    WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id
    LIMIT 1 FOR UPDATE SKIP LOCKED
) AS r;

-- name: LockRunsWaiting :many
-- Waits for each row, in the order of the arrays, at most lock_timeout.
SELECT r.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.* FROM runs r1
    WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id
    LIMIT 1 FOR UPDATE
) AS r;

-- name: FindRuns :many
-- Which of the keys exist, locked or not.
SELECT r.namespace, r.run_id
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.namespace, r1.run_id FROM runs r1
    WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r;

-- name: KnownSignals :many
SELECT s.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@signal_ids::text[])) AS k (namespace, run_id, signal_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT s1.* FROM signals s1 WHERE s1.run = r.id AND s1.signal_id = k.signal_id LIMIT 1
) AS s;

-- name: KnownHooks :many
SELECT h.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@hook_ids::text[])) AS k (namespace, run_id, hook_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT h1.* FROM hooks h1 WHERE h1.run = r.id AND h1.hook_id = k.hook_id LIMIT 1
) AS h;

-- name: ActiveHooks :many
-- OFFSET 0 keeps the planner from turning the look-up of each run into one join. An active hook is one without
-- resolved_at; asking for its state would let the planner read the index of all active hooks instead.
SELECT h.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT h1.* FROM hooks h1 WHERE h1.run = r.id AND h1.resolved_at IS NULL OFFSET 0
) AS h;

-- name: Clock :one
-- The database's clock, not the transaction's start: it is read after all locks are held.
SELECT clock_timestamp()::timestamptz AS at;

-- name: InsertSignals :exec
INSERT INTO signals (run, signal_id, name, digest, seq, received_at, source, actor)
SELECT u.run, u.signal_id, u.name, u.digest, u.seq, u.received_at, u.source, u.actor
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@signal_ids::text[]), unnest(@names::text[]), unnest(@digests::bytea[]),
    unnest(@seqs::bigint[]), unnest(@received_ats::timestamptz[]), unnest(@sources::text[]), unnest(@actors::text[])
) AS u (run, signal_id, name, digest, seq, received_at, source, actor);

-- name: HostSettings :many
-- The settings of a transaction of the host that the door changes for a moment.
SELECT current_setting('lock_timeout')::text AS lock_timeout, current_setting('enable_hashjoin')::text AS hash_join,
    current_setting('enable_mergejoin')::text AS merge_join, current_setting('enable_seqscan')::text AS seq_scan,
    current_setting('jit')::text AS jit, current_setting('plan_cache_mode')::text AS plan_cache_mode,
    coalesce(current_setting('flowgate.due', true), '')::text AS due;

-- name: SetHostSettings :exec
SELECT set_config('lock_timeout', @lock_timeout::text, true),
    set_config('enable_hashjoin', @hash_join::text, true),
    set_config('enable_mergejoin', @merge_join::text, true),
    set_config('enable_seqscan', @seq_scan::text, true),
    set_config('jit', @jit::text, true),
    set_config('plan_cache_mode', @plan_cache_mode::text, true),
    set_config('flowgate.due', @due::text, true);
