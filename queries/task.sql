-- Tasks: rows that a run's turn makes, that workers begin, and that go with their outcome. Arrays are parallel and have no
-- NULL. Whoever writes the rows of several runs holds the runs' locks. A worker, which does not, writes one row, or leaves
-- out those that are locked: so nobody waits for a worker that waits. A kind || '' keeps a look-up by key from being one by
-- the index of what is due, which begins with the kind.

-- name: InsertTasks :exec
-- To be begun at once; a worker stands for one that has begun it already.
INSERT INTO tasks (run, generation, kind, task_id, name, seq, target, policy, close_at, attempt, worker, run_after)
SELECT u.run, u.generation, u.kind, u.task_id, u.name, u.seq, u.target, u.policy,
    nullif(u.close_at, '0001-01-01T00:00:00Z'::timestamptz), (u.worker <> '')::integer, nullif(u.worker, ''),
    statement_timestamp() + CASE WHEN u.worker <> '' THEN (@lease::float8) * interval '1 second' ELSE interval '0' END
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@generations::integer[]), unnest(@kinds::text[]), unnest(@task_ids::text[]),
    unnest(@names::text[]), unnest(@seqs::bigint[]), unnest(@targets::text[]), unnest(@policies::text[]),
    unnest(@close_ats::timestamptz[]), unnest(@workers::text[])
) AS u (run, generation, kind, task_id, name, seq, target, policy, close_at, worker);

-- name: DeleteTasks :exec
DELETE FROM tasks AS t
USING ROWS FROM (
    unnest(@runs::bigint[]), unnest(@generations::integer[]), unnest(@kinds::text[]), unnest(@task_ids::text[])
) AS u (run, generation, kind, task_id)
WHERE t.run = ANY (ARRAY[u.run]) AND t.generation = u.generation AND t.task_id = u.task_id AND t.kind || '' = u.kind;

-- name: HoldTasks :exec
-- Holds tasks, or lets held ones be begun again with all their attempts.
UPDATE tasks AS t SET held = u.held, worker = NULL,
    failures = CASE WHEN u.held THEN t.failures ELSE 0 END, strikes = CASE WHEN u.held THEN t.strikes ELSE 0 END,
    run_after = CASE WHEN u.held THEN '9999-12-31Z'::timestamptz ELSE statement_timestamp() END
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@generations::integer[]), unnest(@kinds::text[]), unnest(@task_ids::text[]),
    unnest(@helds::boolean[])
) AS u (run, generation, kind, task_id, held)
WHERE t.run = ANY (ARRAY[u.run]) AND t.generation = u.generation AND t.task_id = u.task_id AND t.kind || '' = u.kind;

-- name: KnownTasks :many
SELECT t.*
FROM ROWS FROM (
    unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@generations::integer[]), unnest(@kinds::text[]),
    unnest(@task_ids::text[])
) AS k (namespace, run_id, generation, kind, task_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs AS r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (
    SELECT t1.* FROM tasks AS t1
    WHERE t1.run = r.id AND t1.generation = k.generation AND t1.task_id = k.task_id AND t1.kind || '' = k.kind LIMIT 1
) AS t;

-- name: OpenTasks :many
-- All tasks of runs. OFFSET 0 keeps the look-up of each run from becoming one join.
SELECT t.*
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r1.id FROM runs AS r1 WHERE r1.namespace = k.namespace AND r1.run_id = k.run_id LIMIT 1
) AS r
CROSS JOIN LATERAL (SELECT t1.* FROM tasks AS t1 WHERE t1.run = r.id OFFSET 0) AS t;

-- name: ClaimTasks :many
-- Begins what is due of each kind and name, so many at most, those that wait longest first. One that was begun before and
-- is due again was lost with its worker. A message to another run waits for those that were asked for before it. Answers
-- with at least one row: when something is due next.
WITH wanted AS (
    SELECT w.kind, w.name, w.most
    FROM ROWS FROM (unnest(@kinds::text[]), unnest(@names::text[]), unnest(@mosts::integer[])) AS w (kind, name, most)
), picked AS MATERIALIZED (
    SELECT ready.run, ready.generation, ready.kind, ready.task_id
    FROM wanted AS w
    CROSS JOIN LATERAL (
        SELECT t.run, t.generation, t.kind, t.task_id FROM tasks AS t
        WHERE t.kind = w.kind AND t.name = w.name AND t.run_after <= statement_timestamp()
            AND (t.kind <> 'call' OR NOT EXISTS (
                SELECT FROM tasks AS e WHERE e.run = t.run AND e.target = t.target AND e.seq < t.seq AND e.kind = 'call'
            ))
        ORDER BY t.run_after LIMIT w.most FOR UPDATE SKIP LOCKED
    ) AS ready
), begun AS (
    UPDATE tasks AS t SET
        attempt = t.attempt + 1,
        failures = t.failures + (t.worker IS NOT NULL)::integer,
        strikes = t.strikes + (t.worker IS NOT NULL)::integer,
        worker = @worker::text,
        run_after = statement_timestamp() + (@lease::float8) * interval '1 second'
    FROM picked AS p
    WHERE t.run = ANY (ARRAY[p.run]) AND t.generation = p.generation AND t.task_id = p.task_id AND t.kind || '' = p.kind
    RETURNING t.*
), next AS (
    SELECT coalesce(min(soon.run_after), '9999-12-31Z'::timestamptz) AS run_after
    FROM wanted AS w
    CROSS JOIN LATERAL (
        SELECT t.run_after FROM tasks AS t
        WHERE t.kind = w.kind AND t.name = w.name AND t.run_after > statement_timestamp()
        ORDER BY t.run_after LIMIT 1
    ) AS soon
)
SELECT statement_timestamp()::timestamptz AS asked_at, next.run_after::timestamptz AS next_due, b.run, b.generation, b.kind, b.task_id,
    b.name, b.seq, b.target, b.policy, b.close_at, b.attempt, b.failures, b.strikes, b.details,
    coalesce(r.namespace, '')::text AS namespace, coalesce(r.run_id, '')::text AS run_id,
    coalesce(r.workflow, '')::text AS workflow, coalesce(r.version, '')::text AS version,
    coalesce(r.status, '')::text AS status, r.parent,
    coalesce(e.type, '')::text AS event_type, e.data AS event_data, e.payload AS event_payload
FROM next
LEFT JOIN begun AS b ON true
LEFT JOIN LATERAL (SELECT r1.* FROM runs AS r1 WHERE r1.id = b.run LIMIT 1) AS r ON true
LEFT JOIN LATERAL (SELECT e1.* FROM events AS e1 WHERE e1.run = b.run AND e1.seq = b.seq LIMIT 1) AS e ON true;

-- name: NextTask :many
-- When one of the wanted tasks is due first, in the year 9999 if none is, and the time now.
SELECT statement_timestamp()::timestamptz AS asked_at, (
    SELECT coalesce(min(soon.run_after), '9999-12-31Z'::timestamptz)
    FROM ROWS FROM (unnest(@kinds::text[]), unnest(@names::text[])) AS w (kind, name)
    CROSS JOIN LATERAL (
        SELECT t.run_after FROM tasks AS t
        WHERE t.kind = w.kind AND t.name = w.name
        ORDER BY t.run_after LIMIT 1
    ) AS soon
)::timestamptz AS first_due;

-- name: RenewTasks :many
-- Renews the leases of tasks that a worker has begun, keeps what their heartbeats said, and says which of them are its own
-- still. Rows that another transaction has locked are left as they are.
WITH mine AS (
    SELECT u.ord, u.run, u.generation, u.kind, u.task_id, u.attempt, u.details
    FROM ROWS FROM (
        unnest(@runs::bigint[]), unnest(@generations::integer[]), unnest(@kinds::text[]), unnest(@task_ids::text[]),
        unnest(@attempts::integer[]), unnest(@details::bytea[])
    ) WITH ORDINALITY AS u (run, generation, kind, task_id, attempt, details, ord)
), held AS MATERIALIZED (
    SELECT m.ord, m.details, t.run, t.generation, t.kind, t.task_id
    FROM mine AS m
    CROSS JOIN LATERAL (
        SELECT t1.* FROM tasks AS t1
        WHERE t1.run = m.run AND t1.generation = m.generation AND t1.task_id = m.task_id AND t1.kind || '' = m.kind
            AND t1.attempt = m.attempt AND t1.worker = @worker::text
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS t
), renewed AS (
    UPDATE tasks AS t SET
        run_after = statement_timestamp() + (@lease::float8) * interval '1 second',
        details = CASE WHEN octet_length(h.details) > 0 THEN h.details ELSE t.details END
    FROM held AS h
    WHERE t.run = ANY (ARRAY[h.run]) AND t.generation = h.generation AND t.task_id = h.task_id AND t.kind || '' = h.kind
)
SELECT m.ord::integer AS place
FROM mine AS m
CROSS JOIN LATERAL (
    SELECT t1.run FROM tasks AS t1
    WHERE t1.run = m.run AND t1.generation = m.generation AND t1.task_id = m.task_id AND t1.kind || '' = m.kind
        AND t1.attempt = m.attempt AND t1.worker = @worker::text LIMIT 1
) AS alive;

-- name: ReturnTask :many
-- Ends an attempt without an outcome: after a failed one the task is due again after a pause; what was done of a child is
-- that it was started, and it waits for the child.
UPDATE tasks AS t SET
    worker = NULL,
    failures = t.failures + (@failed::boolean)::integer,
    last_error = CASE WHEN @failed::boolean THEN nullif(@last_error::text, '') ELSE t.last_error END,
    details = CASE WHEN octet_length(@details::bytea) > 0 THEN @details::bytea ELSE t.details END,
    run_after = CASE WHEN @pause::float8 < 0 THEN '9999-12-31Z'::timestamptz
        ELSE statement_timestamp() + (@pause::float8) * interval '1 second' END
WHERE t.run = @run AND t.generation = @generation AND t.task_id = @task_id AND t.kind || '' = @kind::text
    AND t.attempt = @attempt AND t.worker = @worker::text
RETURNING t.attempt;

-- name: ReturnUntold :many
-- Gives back what a worker has begun without knowing of it: the answer to its claim was lost, so nothing of it was tried.
-- Rows that another transaction has locked are left as they are.
WITH untold AS MATERIALIZED (
    SELECT t.run, t.generation, t.kind, t.task_id
    FROM ROWS FROM (unnest(@kinds::text[]), unnest(@names::text[])) AS w (kind, name)
    CROSS JOIN LATERAL (
        SELECT t1.run, t1.generation, t1.kind, t1.task_id FROM tasks AS t1
        WHERE t1.kind = w.kind AND t1.name = w.name
            AND t1.run_after <= statement_timestamp() + (@within::float8) * interval '1 second' AND t1.worker = @worker::text
            AND NOT EXISTS (
                SELECT FROM ROWS FROM (
                    unnest(@runs::bigint[]), unnest(@generations::integer[]), unnest(@task_kinds::text[]), unnest(@task_ids::text[])
                ) AS u (run, generation, kind, task_id)
                WHERE u.run = t1.run AND u.generation = t1.generation AND u.kind = t1.kind AND u.task_id = t1.task_id
            )
        FOR UPDATE SKIP LOCKED
    ) AS t
)
UPDATE tasks AS t SET worker = NULL, run_after = statement_timestamp()
FROM untold AS u
WHERE t.run = ANY (ARRAY[u.run]) AND t.generation = u.generation AND t.task_id = u.task_id AND t.kind || '' = u.kind
RETURNING t.attempt;

-- name: InsertLetters :exec
INSERT INTO dead_letters (run, namespace, generation, step_id, name, reason, code, message, attempt, created_at, state)
SELECT u.run, u.namespace, u.generation, u.step_id, u.name, u.reason, u.code, u.message, u.attempt, u.created_at, u.state
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@namespaces::text[]), unnest(@generations::integer[]), unnest(@step_ids::text[]),
    unnest(@names::text[]), unnest(@reasons::text[]), unnest(@codes::text[]), unnest(@messages::text[]),
    unnest(@attempts::integer[]), unnest(@created_ats::timestamptz[]), unnest(@states::text[])
) AS u (run, namespace, generation, step_id, name, reason, code, message, attempt, created_at, state);

-- name: ResolveLetters :exec
-- Of held steps that somebody decided about.
UPDATE dead_letters AS d SET state = u.state, resolved_at = u.resolved_at, actor = u.actor
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@generations::integer[]), unnest(@step_ids::text[]), unnest(@states::text[]),
    unnest(@resolved_ats::timestamptz[]), unnest(@actors::text[])
) AS u (run, generation, step_id, state, resolved_at, actor)
WHERE d.run = ANY (ARRAY[u.run]) AND d.generation = u.generation AND d.step_id = u.step_id AND d.state = 'held';

-- name: DiscardLetter :many
-- Of a step that has failed, or whose run has ended: nothing changes but the letter.
UPDATE dead_letters AS d SET state = 'discarded', resolved_at = clock_timestamp(), actor = @actor::text
WHERE d.id = @id AND d.namespace = @namespace AND d.state IN ('failed', 'held')
RETURNING d.id;

-- name: ReadLetter :many
SELECT sqlc.embed(d), r.run_id, r.workflow
FROM dead_letters AS d
CROSS JOIN LATERAL (SELECT r1.run_id, r1.workflow FROM runs AS r1 WHERE r1.id = d.run LIMIT 1) AS r
WHERE d.id = @id AND d.namespace = @namespace;

-- name: ListLetters :many
SELECT sqlc.embed(d), r.run_id, r.workflow
FROM dead_letters AS d
CROSS JOIN LATERAL (SELECT r1.run_id, r1.workflow FROM runs AS r1 WHERE r1.id = d.run LIMIT 1) AS r
WHERE d.namespace = @namespace AND d.id < @before::bigint AND (@state::text = '' OR d.state = @state::text)
    AND (@name::text = '' OR d.name = @name::text)
ORDER BY d.id DESC LIMIT @count::bigint;
