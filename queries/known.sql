-- What a process does with runs whose records it knows from its own commits: it decides first, and one statement locks the
-- rows, finds out whether they are still as known, and writes. A row that somebody else locked or changed is left out, and
-- nothing of its run is written. The seq and the wake_at that are compared under the lock were committed before this
-- statement began, so its snapshot holds everything that the run had then.

-- name: AcceptKnown :many
-- Signals for running runs. at is the acceptance time of each run by position: read after all locks are held, never before
-- the run's last event, and nothing where the run is left out. A run one of whose signals is known already is left out.
WITH m AS MATERIALIZED (
    SELECT u.*
    FROM ROWS FROM (
        unnest(@places::integer[]), unnest(@runs::bigint[]), unnest(@signal_ids::text[]), unnest(@names::text[]),
        unnest(@digests::bytea[]), unnest(@seqs::bigint[]), unnest(@generations::integer[]), unnest(@sources::text[]),
        unnest(@actors::text[]), unnest(@datas::json[]), unnest(@payloads::bytea[])
    ) AS u (place, run, signal_id, name, digest, seq, generation, source, actor, data, payload)
), repeated AS MATERIALIZED (
    SELECT m.place FROM m
    CROSS JOIN LATERAL (SELECT s.seq FROM signals AS s WHERE s.run = m.run AND s.signal_id = m.signal_id LIMIT 1) AS known
), k AS MATERIALIZED (
    SELECT u.place, u.messages, held.id, held.workflow, held.version, held.wake_at, held.updated_at
    FROM ROWS FROM (
        unnest(@ids::bigint[]), unnest(@next_seqs::bigint[]), unnest(@wake_ats::timestamptz[]), unnest(@messages::integer[])
    ) WITH ORDINALITY AS u (id, next_seq, wake_at, messages, place)
    LEFT JOIN LATERAL (
        SELECT r.id, r.workflow, r.version, r.wake_at, r.updated_at FROM runs AS r
        WHERE r.id = u.id AND r.next_seq = u.next_seq AND r.status = 'running'
            AND r.wake_at IS NOT DISTINCT FROM nullif(u.wake_at, '0001-01-01T00:00:00Z'::timestamptz)
            AND u.place <> ALL (ARRAY(SELECT repeated.place FROM repeated))
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS held ON true
), clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now FROM (SELECT count(*) FROM k) AS locked
), at AS MATERIALIZED (
    SELECT array_agg(CASE WHEN k.id IS NOT NULL THEN greatest(clock.now, k.updated_at) END ORDER BY k.place) AS times
    FROM k CROSS JOIN clock
), receipts AS (
    INSERT INTO signals (run, signal_id, name, digest, seq, received_at, source, actor)
    SELECT m.run, m.signal_id, m.name, m.digest, m.seq, (SELECT at.times FROM at)[m.place], m.source, m.actor
    FROM m WHERE (SELECT at.times FROM at)[m.place] IS NOT NULL
), appended AS (
    INSERT INTO events (run, seq, generation, type, at, data, payload)
    SELECT m.run, m.seq, m.generation, 'signal.received', (SELECT at.times FROM at)[m.place], m.data, m.payload
    FROM m WHERE (SELECT at.times FROM at)[m.place] IS NOT NULL
), changed AS (
    UPDATE runs AS r SET
        next_seq = r.next_seq + k.messages,
        backlog = r.backlog + k.messages,
        wake_at = least(r.wake_at, (SELECT at.times FROM at)[k.place]),
        updated_at = (SELECT at.times FROM at)[k.place]
    FROM k WHERE r.id = ANY (ARRAY[k.id])
), unscheduled AS (
    DELETE FROM due AS d USING k
    WHERE k.wake_at > (SELECT at.times FROM at)[k.place]
        AND d.workflow = ANY (ARRAY[k.workflow]) AND d.version = k.version AND d.wake_at = k.wake_at AND d.run = k.id
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT k.workflow, k.version, (SELECT at.times FROM at)[k.place], k.id, false
    FROM k WHERE k.id IS NOT NULL AND (k.wake_at IS NULL OR k.wake_at > (SELECT at.times FROM at)[k.place])
)
SELECT k.place::integer AS place, ((SELECT at.times FROM at)[k.place])::timestamptz AS at
FROM k WHERE k.id IS NOT NULL;

-- name: SignalKnown :many
-- As AcceptKnown, for runs that get one signal each, which most do: the run and its message are one row then, and the
-- acceptance time is read once the row is locked.
WITH timed AS MATERIALIZED (
    SELECT u.*, held.id AS held, held.workflow, held.version, held.wake_at AS was,
        greatest(clock_timestamp(), held.updated_at) AS at
    FROM ROWS FROM (
        unnest(@ids::bigint[]), unnest(@next_seqs::bigint[]), unnest(@wake_ats::timestamptz[]), unnest(@generations::integer[]),
        unnest(@signal_ids::text[]), unnest(@names::text[]), unnest(@digests::bytea[]), unnest(@sources::text[]),
        unnest(@actors::text[]), unnest(@datas::json[]), unnest(@payloads::bytea[])
    ) WITH ORDINALITY AS u (id, next_seq, wake_at, generation, signal_id, name, digest, source, actor, data, payload, place)
    CROSS JOIN LATERAL (
        SELECT r.id, r.workflow, r.version, r.wake_at, r.updated_at FROM runs AS r
        WHERE r.id = u.id AND r.next_seq = u.next_seq AND r.status = 'running'
            AND r.wake_at IS NOT DISTINCT FROM nullif(u.wake_at, '0001-01-01T00:00:00Z'::timestamptz)
            AND NOT EXISTS (SELECT FROM signals AS s WHERE s.run = u.id AND s.signal_id = u.signal_id)
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS held
), receipts AS (
    INSERT INTO signals (run, signal_id, name, digest, seq, received_at, source, actor)
    SELECT t.held, t.signal_id, t.name, t.digest, t.next_seq, t.at, t.source, t.actor FROM timed AS t
), appended AS (
    INSERT INTO events (run, seq, generation, type, at, data, payload)
    SELECT t.held, t.next_seq, t.generation, 'signal.received', t.at, t.data, t.payload FROM timed AS t
), changed AS (
    UPDATE runs AS r SET next_seq = r.next_seq + 1, backlog = r.backlog + 1, wake_at = least(r.wake_at, t.at), updated_at = t.at
    FROM timed AS t WHERE r.id = ANY (ARRAY[t.held])
), unscheduled AS (
    DELETE FROM due AS d USING timed AS t
    WHERE t.was > t.at AND d.workflow = ANY (ARRAY[t.workflow]) AND d.version = t.version AND d.wake_at = t.was AND d.run = t.held
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT t.workflow, t.version, t.at, t.held, false FROM timed AS t WHERE t.was IS NULL OR t.was > t.at
)
SELECT t.place::integer AS place, t.at::timestamptz AS at FROM timed AS t;

-- name: ResumeKnown :many
-- Answers to hooks of running runs, one for each run. As SignalKnown; a run whose hook is not open at the acceptance time is
-- left out, too.
WITH k AS MATERIALIZED (
    SELECT u.*, held.id AS held, held.workflow, held.version, held.wake_at AS was, open.expires_at,
        greatest(clock_timestamp(), held.updated_at) AS at
    FROM ROWS FROM (
        unnest(@ids::bigint[]), unnest(@next_seqs::bigint[]), unnest(@wake_ats::timestamptz[]), unnest(@generations::integer[]),
        unnest(@hook_ids::text[]), unnest(@payload_digests::bytea[]), unnest(@sources::text[]), unnest(@actors::text[]),
        unnest(@datas::json[]), unnest(@payloads::bytea[])
    ) WITH ORDINALITY AS u (id, next_seq, wake_at, generation, hook_id, payload_digest, source, actor, data, payload, place)
    CROSS JOIN LATERAL (
        SELECT h.hook_id, h.expires_at FROM hooks AS h
        WHERE h.run = u.id AND h.hook_id = u.hook_id AND h.resolved_at IS NULL LIMIT 1
    ) AS open
    CROSS JOIN LATERAL (
        SELECT r.id, r.workflow, r.version, r.wake_at, r.updated_at FROM runs AS r
        WHERE r.id = u.id AND r.next_seq = u.next_seq AND r.status = 'running'
            AND r.wake_at IS NOT DISTINCT FROM nullif(u.wake_at, '0001-01-01T00:00:00Z'::timestamptz)
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS held
), timed AS MATERIALIZED (
    SELECT k.* FROM k WHERE k.expires_at IS NULL OR k.at < k.expires_at
), answered AS (
    UPDATE hooks AS h SET state = 'resumed', payload_digest = t.payload_digest, resolved_at = t.at, resolved_seq = t.next_seq,
        source = t.source, actor = t.actor
    FROM timed AS t WHERE h.run = ANY (ARRAY[t.held]) AND h.hook_id = t.hook_id
), appended AS (
    INSERT INTO events (run, seq, generation, type, at, data, payload)
    SELECT t.held, t.next_seq, t.generation, 'hook.resumed', t.at, t.data, t.payload FROM timed AS t
), changed AS (
    UPDATE runs AS r SET next_seq = r.next_seq + 1, wake_at = least(r.wake_at, t.at), updated_at = t.at
    FROM timed AS t WHERE r.id = ANY (ARRAY[t.held])
), unscheduled AS (
    DELETE FROM due AS d USING timed AS t
    WHERE t.was > t.at AND d.workflow = ANY (ARRAY[t.workflow]) AND d.version = t.version AND d.wake_at = t.was AND d.run = t.held
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT t.workflow, t.version, t.at, t.held, false FROM timed AS t WHERE t.was IS NULL OR t.was > t.at
)
SELECT t.place::integer AS place, t.at::timestamptz AS at FROM timed AS t;

-- name: SettleKnown :many
-- Outcomes of tasks of running runs, one for each run. As SignalKnown; a run whose task is held, or not open at the
-- acceptance time, or was begun anew, is left out, too. That is decided by the row which is deleted, as it is by then:
-- beginning a task anew changes nothing of its run.
WITH k AS MATERIALIZED (
    SELECT u.*, held.id AS held, held.workflow, held.version, held.wake_at AS was,
        greatest(clock_timestamp(), held.updated_at) AS at
    FROM ROWS FROM (
        unnest(@ids::bigint[]), unnest(@next_seqs::bigint[]), unnest(@wake_ats::timestamptz[]), unnest(@generations::integer[]),
        unnest(@kinds::text[]), unnest(@task_ids::text[]), unnest(@attempts::integer[]), unnest(@types::text[]),
        unnest(@datas::json[]), unnest(@payloads::bytea[])
    ) WITH ORDINALITY AS u (id, next_seq, wake_at, generation, kind, task_id, attempt, type, data, payload, place)
    CROSS JOIN LATERAL (
        SELECT r.id, r.workflow, r.version, r.wake_at, r.updated_at FROM runs AS r
        WHERE r.id = u.id AND r.next_seq = u.next_seq AND r.status = 'running'
            AND r.wake_at IS NOT DISTINCT FROM nullif(u.wake_at, '0001-01-01T00:00:00Z'::timestamptz)
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS held
), gone AS (
    DELETE FROM tasks AS t USING k
    WHERE t.run = ANY (ARRAY[k.held]) AND t.generation = k.generation AND t.task_id = k.task_id AND t.kind || '' = k.kind
        AND t.attempt = k.attempt AND NOT t.held AND (t.close_at IS NULL OR k.at < t.close_at)
    RETURNING t.run
), timed AS MATERIALIZED (
    SELECT k.* FROM k WHERE k.held = ANY (ARRAY(SELECT gone.run FROM gone))
), appended AS (
    INSERT INTO events (run, seq, generation, type, at, data, payload)
    SELECT t.held, t.next_seq, t.generation, t.type, t.at, t.data, t.payload FROM timed AS t
), changed AS (
    UPDATE runs AS r SET next_seq = r.next_seq + 1, wake_at = least(r.wake_at, t.at), updated_at = t.at
    FROM timed AS t WHERE r.id = ANY (ARRAY[t.held])
), unscheduled AS (
    DELETE FROM due AS d USING timed AS t
    WHERE t.was > t.at AND d.workflow = ANY (ARRAY[t.workflow]) AND d.version = t.version AND d.wake_at = t.was AND d.run = t.held
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT t.workflow, t.version, t.at, t.held, false FROM timed AS t WHERE t.was IS NULL OR t.was > t.at
)
SELECT t.place::integer AS place, t.at::timestamptz AS at FROM timed AS t;

-- name: StartUnknown :many
-- Starts of runs of which this process knows nothing, in key order: rows and first events of those that do not exist, with
-- a turn due. Waits for a transaction that is inserting the same key; a run that exists is left out.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), k AS MATERIALIZED (
    SELECT nextval('runs_id_seq') AS id, u.*
    FROM ROWS FROM (
        unnest(@namespaces::text[]), unnest(@run_ids::text[]), unnest(@workflows::text[]), unnest(@versions::text[]),
        unnest(@spec_digests::bytea[]), unnest(@input_digests::bytea[]), unnest(@labels::jsonb[]), unnest(@datas::json[]),
        unnest(@payloads::bytea[])
    ) WITH ORDINALITY AS u (namespace, run_id, workflow, version, spec_digest, input_digest, labels, data, payload, place)
), inserted AS (
    INSERT INTO runs (id, namespace, run_id, workflow, version, spec_digest, input_digest, labels, next_seq, wake_at,
        started_at, updated_at) OVERRIDING SYSTEM VALUE
    SELECT k.id, k.namespace, k.run_id, k.workflow, k.version, k.spec_digest, k.input_digest, k.labels, 2, clock.now,
        clock.now, clock.now
    FROM k CROSS JOIN clock
    ORDER BY k.place
    ON CONFLICT (namespace, run_id) DO NOTHING
    RETURNING id
), ours AS MATERIALIZED (
    SELECT array_agg(i.id) AS ids FROM inserted AS i
), appended AS (
    INSERT INTO events (run, seq, generation, type, at, data, payload)
    SELECT k.id, 1, 1, 'run.started', clock.now, k.data, k.payload
    FROM k CROSS JOIN clock WHERE k.id = ANY ((SELECT ours.ids FROM ours)::bigint[])
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT k.workflow, k.version, clock.now, k.id, false
    FROM k CROSS JOIN clock WHERE k.id = ANY ((SELECT ours.ids FROM ours)::bigint[])
)
SELECT k.place::integer AS place, k.id::bigint AS id, clock.now::timestamptz AS at
FROM k CROSS JOIN clock WHERE k.id = ANY ((SELECT ours.ids FROM ours)::bigint[]);

-- name: AdvanceKnown :many
-- The outcomes of turns of running runs that are due. Each is worth nothing after its valid_until.
WITH k AS MATERIALIZED (
    SELECT u.*, held.id AS held, held.workflow, held.version, held.wake_at AS was
    FROM ROWS FROM (
        unnest(@ids::bigint[]), unnest(@known_seqs::bigint[]), unnest(@known_wakes::timestamptz[]), unnest(@statuses::text[]),
        unnest(@generations::integer[]), unnest(@first_seqs::bigint[]), unnest(@next_seqs::bigint[]),
        unnest(@backlogs::integer[]), unnest(@wake_ats::timestamptz[]), unnest(@updated_ats::timestamptz[]),
        unnest(@closed_ats::timestamptz[]), unnest(@valid_untils::timestamptz[])
    ) WITH ORDINALITY AS u (id, known_seq, known_wake, status, generation, first_seq, next_seq, backlog, wake_at, updated_at,
        closed_at, valid_until, place)
    LEFT JOIN LATERAL (
        SELECT r.id, r.workflow, r.version, r.wake_at FROM runs AS r
        WHERE r.id = u.id AND r.next_seq = u.known_seq AND r.status = 'running' AND r.wake_at = u.known_wake
            AND clock_timestamp() < u.valid_until
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS held ON true
), held AS MATERIALIZED (
    SELECT array_agg(k.held ORDER BY k.place) AS ids FROM k
), appended AS (
    INSERT INTO events (run, seq, generation, type, at, data, payload)
    SELECT (SELECT held.ids FROM held)[e.place], e.seq, e.generation, e.type, e.at, e.data, e.payload
    FROM ROWS FROM (
        unnest(@event_places::integer[]), unnest(@event_seqs::bigint[]), unnest(@event_generations::integer[]),
        unnest(@event_types::text[]), unnest(@event_ats::timestamptz[]), unnest(@event_datas::json[]),
        unnest(@event_payloads::bytea[])
    ) AS e (place, seq, generation, type, at, data, payload)
    WHERE (SELECT held.ids FROM held)[e.place] IS NOT NULL
), consumed AS (
    UPDATE signals AS s SET consumed_by = c.wait_id, consumed_generation = c.generation
    FROM ROWS FROM (
        unnest(@consumed_places::integer[]), unnest(@consumed_signals::text[]), unnest(@consumed_waits::text[]),
        unnest(@consumed_generations::integer[])
    ) AS c (place, signal_id, wait_id, generation)
    WHERE s.run = ANY (ARRAY[(SELECT held.ids FROM held)[c.place]]) AND s.signal_id = c.signal_id
), tasked AS (
    INSERT INTO tasks (run, generation, kind, task_id, name, seq, target, policy, close_at, attempt, worker, run_after)
    SELECT (SELECT held.ids FROM held)[t.place], t.generation, t.kind, t.task_id, t.name, t.seq, t.target, t.policy,
        nullif(t.close_at, '0001-01-01T00:00:00Z'::timestamptz), (t.worker <> '')::integer, nullif(t.worker, ''),
        statement_timestamp() + CASE WHEN t.worker <> '' THEN (@lease::float8) * interval '1 second' ELSE interval '0' END
    FROM ROWS FROM (
        unnest(@task_places::integer[]), unnest(@task_generations::integer[]), unnest(@task_kinds::text[]),
        unnest(@task_ids::text[]), unnest(@task_names::text[]), unnest(@task_seqs::bigint[]), unnest(@task_targets::text[]),
        unnest(@task_policies::text[]), unnest(@task_close_ats::timestamptz[]), unnest(@task_workers::text[])
    ) AS t (place, generation, kind, task_id, name, seq, target, policy, close_at, worker)
    WHERE (SELECT held.ids FROM held)[t.place] IS NOT NULL
), changed AS (
    UPDATE runs AS r SET
        status = k.status,
        generation = k.generation,
        first_seq = k.first_seq,
        next_seq = k.next_seq,
        backlog = k.backlog,
        wake_at = nullif(k.wake_at, '0001-01-01T00:00:00Z'::timestamptz),
        updated_at = k.updated_at,
        closed_at = nullif(k.closed_at, '0001-01-01T00:00:00Z'::timestamptz)
    FROM k WHERE r.id = ANY (ARRAY[k.held])
), unscheduled AS (
    DELETE FROM due AS d USING k
    WHERE d.workflow = ANY (ARRAY[k.workflow]) AND d.version = k.version AND d.wake_at = k.was AND d.run = k.held
        AND k.was <> k.wake_at
), scheduled AS (
    INSERT INTO due (workflow, version, wake_at, run, blocked)
    SELECT k.workflow, k.version, k.wake_at, k.held, false
    FROM k WHERE k.held IS NOT NULL AND k.was <> k.wake_at AND k.wake_at <> '0001-01-01T00:00:00Z'::timestamptz
)
SELECT k.place::integer AS place FROM k WHERE k.held IS NOT NULL;

-- name: LockKnown :many
-- Locks running runs that are due and still as known, as AdvanceKnown does; statements that follow see what they have.
SELECT held.id
FROM ROWS FROM (
    unnest(@ids::bigint[]), unnest(@known_seqs::bigint[]), unnest(@known_wakes::timestamptz[]), unnest(@valid_untils::timestamptz[])
) AS u (id, known_seq, known_wake, valid_until)
CROSS JOIN LATERAL (
    SELECT r.id FROM runs AS r
    WHERE r.id = u.id AND r.next_seq = u.known_seq AND r.status = 'running' AND r.wake_at = u.known_wake
        AND clock_timestamp() < u.valid_until
    LIMIT 1 FOR UPDATE SKIP LOCKED
) AS held;
