-- The advance side of the door: claiming due runs, reading what they have not folded yet, and writing what a turn changed.
-- Arrays are parallel. A LATERAL sub-select with an ORDER BY stays a look-up by key for each element, at any table size.

-- name: ClaimRuns :many
-- Locks due runs of the given codes, oldest first, leaving out those that another transaction has locked. The code that
-- waits longest is served first, and the outer LIMIT stops the scan, so that no row is locked in vain. floor is the due
-- time to begin at: what turned before has left dead entries in the index. Runs that this process cannot read are left
-- out as if they were none, and so are runs that are due for less than the grace. Always answers with at least one row: with
-- nothing claimed it says when something will be due. It tells which due run was left out, the one that waits longest:
-- who holds it may let go of it without a hint.
WITH code AS (
    SELECT c.workflow, c.version, c.floor
    FROM ROWS FROM (unnest(@workflows::text[]), unnest(@versions::text[]), unnest(@floors::timestamptz[]))
        AS c (workflow, version, floor)
), claimed AS MATERIALIZED (
    SELECT taken.*
    FROM (
        SELECT code.workflow, code.version, code.floor
        FROM code
        ORDER BY (
            SELECT head.wake_at FROM due AS head
            WHERE head.workflow = code.workflow AND head.version = code.version AND head.wake_at >= code.floor
            ORDER BY head.wake_at LIMIT 1
        )
    ) AS ready
    CROSS JOIN LATERAL (
        SELECT d.run, d.wake_at FROM due AS d
        WHERE d.workflow = ready.workflow AND d.version = ready.version
            AND d.wake_at >= ready.floor AND d.wake_at <= statement_timestamp() - (@grace::float8) * interval '1 second'
            AND d.run <> ALL (coalesce(@unreadable::bigint[], '{}'))
        ORDER BY d.wake_at
    ) AS due
    CROSS JOIN LATERAL (
        SELECT r.* FROM runs AS r
        WHERE r.id = due.run AND r.wake_at = due.wake_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS taken
    LIMIT @batch::bigint
), next AS (
    SELECT soon.wake_at
    FROM code
    CROSS JOIN LATERAL (
        SELECT d.wake_at FROM due AS d
        WHERE d.workflow = code.workflow AND d.version = code.version
            AND d.wake_at > statement_timestamp()
        ORDER BY d.wake_at LIMIT 1
    ) AS soon
    ORDER BY soon.wake_at LIMIT 1
), late AS (
    SELECT passed.run, passed.wake_at
    FROM code
    CROSS JOIN LATERAL (
        SELECT d.run, d.wake_at FROM due AS d
        WHERE d.workflow = code.workflow AND d.version = code.version
            AND d.wake_at >= code.floor AND d.wake_at <= statement_timestamp() - (@grace::float8) * interval '1 second'
            AND d.run <> ALL (ARRAY(SELECT claimed.id FROM claimed)) AND d.run <> ALL (coalesce(@unreadable::bigint[], '{}'))
        ORDER BY d.wake_at LIMIT 1
    ) AS passed
    WHERE (SELECT count(*) FROM claimed) < @batch::bigint
    ORDER BY passed.wake_at LIMIT 1
), skipped AS (
    SELECT r.namespace, r.run_id, late.wake_at
    FROM late
    CROSS JOIN LATERAL (
        SELECT r1.namespace, r1.run_id FROM runs AS r1 WHERE r1.id = late.run LIMIT 1
    ) AS r
)
SELECT statement_timestamp()::timestamptz AS asked_at, next.wake_at AS next_due, skipped.namespace AS skipped_namespace,
    skipped.run_id AS skipped_run_id, skipped.wake_at AS skipped_since, claimed.*
FROM (SELECT true) AS always
LEFT JOIN next ON true
LEFT JOIN skipped ON true
LEFT JOIN claimed ON true;

-- name: NextDue :many
-- When something of the given codes is due first, in the year 9999 if nothing is, and the time now. One cheap statement,
-- for who has nothing to do.
SELECT statement_timestamp()::timestamptz AS asked_at, (
    SELECT coalesce(min(soon.wake_at), '9999-01-01Z'::timestamptz)
    FROM ROWS FROM (unnest(@workflows::text[]), unnest(@versions::text[])) AS c (workflow, version)
    CROSS JOIN LATERAL (
        SELECT d.wake_at FROM due AS d
        WHERE d.workflow = c.workflow AND d.version = c.version
        ORDER BY d.wake_at LIMIT 1
    ) AS soon
)::timestamptz AS first_due;

-- name: ClaimRun :many
-- Claims one run, waiting for its lock, if it is still due and of one of the codes then.
SELECT r.* FROM runs AS r
WHERE r.namespace = @namespace AND r.run_id = @run_id AND r.wake_at <= statement_timestamp()
    AND EXISTS (
        SELECT FROM ROWS FROM (unnest(@workflows::text[]), unnest(@versions::text[])) AS c (workflow, version)
        WHERE c.workflow = r.workflow AND c.version = r.version
    )
FOR UPDATE;

-- name: EventsFrom :many
-- The events of each run from a seq on; the caller holds the lock, so the answer ends where the run's record says.
SELECT e.*
FROM ROWS FROM (unnest(@runs::bigint[]), unnest(@seqs::bigint[])) AS c (run, seq)
CROSS JOIN LATERAL (
    SELECT ev.* FROM events AS ev WHERE ev.run = c.run AND ev.seq >= c.seq ORDER BY ev.seq
) AS e;

-- name: EventsBetween :many
-- Events of earlier generations by ranges of seqs, both ends included.
SELECT e.*
FROM ROWS FROM (unnest(@runs::bigint[]), unnest(@firsts::bigint[]), unnest(@lasts::bigint[])) AS c (run, first, last)
CROSS JOIN LATERAL (
    SELECT ev.* FROM events AS ev
    WHERE ev.run = c.run AND ev.seq BETWEEN c.first AND c.last
    ORDER BY ev.seq
) AS e;

-- name: LockTokens :exec
-- For tokens that may stand under several digest keys: of two transactions that claim one of them, each under a key of its
-- own, the later one waits here, because its buckets are those of the token under all keys. Waits in the order of the
-- array. The first number keeps the buckets apart from advisory locks of others.
SELECT pg_advisory_xact_lock(1718382455, l.bucket) FROM unnest(@buckets::integer[]) AS l (bucket);

-- name: InsertHooks :many
-- In the order of the arrays, which is that of the token digests: two transactions that want the same tokens wait for each
-- other in one order, provided that neither holds a token when it begins. A row whose token or ID is taken is left out of
-- the answer. An array has no NULL: the zero time, 0 and '' stand for it.
INSERT INTO hooks (run, namespace, hook_id, name, metadata, labels, token_digest, digest_key, mint_key, nonce, state,
    created_at, expires_at, resolved_at, resolved_seq, source, actor)
SELECT u.run, u.namespace, u.hook_id, u.name, u.metadata, u.labels, u.token_digest, u.digest_key, nullif(u.mint_key, ''),
    nullif(u.nonce, ''::bytea), u.state, u.created_at, nullif(u.expires_at, '0001-01-01T00:00:00Z'::timestamptz),
    nullif(u.resolved_at, '0001-01-01T00:00:00Z'::timestamptz), nullif(u.resolved_seq, 0), u.source, u.actor
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@namespaces::text[]), unnest(@hook_ids::text[]), unnest(@names::text[]),
    unnest(@metadatas::jsonb[]), unnest(@labels::jsonb[]), unnest(@token_digests::bytea[]), unnest(@digest_keys::text[]),
    unnest(@mint_keys::text[]), unnest(@nonces::bytea[]), unnest(@states::text[]), unnest(@created_ats::timestamptz[]),
    unnest(@expires_ats::timestamptz[]), unnest(@resolved_ats::timestamptz[]), unnest(@resolved_seqs::bigint[]),
    unnest(@sources::text[]), unnest(@actors::text[])
) WITH ORDINALITY AS u (run, namespace, hook_id, name, metadata, labels, token_digest, digest_key, mint_key, nonce, state,
    created_at, expires_at, resolved_at, resolved_seq, source, actor, ord)
ORDER BY u.ord
ON CONFLICT DO NOTHING
RETURNING run, hook_id;

-- name: TokenOwners :many
-- Who holds these tokens, in any namespace.
SELECT h.token_digest, h.run, h.hook_id, r.namespace, r.run_id
FROM unnest(@token_digests::bytea[]) AS t (digest)
CROSS JOIN LATERAL (
    SELECT h1.token_digest, h1.run, h1.hook_id FROM hooks AS h1 WHERE h1.token_digest = t.digest LIMIT 1
) AS h
JOIN runs AS r ON r.id = ANY (ARRAY[h.run]);

-- name: ConsumeSignals :exec
UPDATE signals AS s SET consumed_by = u.wait_id, consumed_generation = u.generation
FROM ROWS FROM (
    unnest(@runs::bigint[]), unnest(@signal_ids::text[]), unnest(@wait_ids::text[]), unnest(@generations::integer[])
) AS u (run, signal_id, wait_id, generation)
WHERE s.run = ANY (ARRAY[u.run]) AND s.signal_id = u.signal_id;

-- name: LockRun :exec
-- Waits for the run's lock. A statement that follows sees what whoever held it left, in every table.
SELECT r.id FROM runs AS r WHERE r.namespace = @namespace AND r.run_id = @run_id FOR UPDATE;

-- name: PostponeRun :exec
-- For a run, locked before, whose turn can neither be stored nor blocked. wake_at is no projection of events.
WITH locked AS MATERIALIZED (
    SELECT r.id, r.workflow, r.version, r.wake_at, r.status, clock_timestamp() + (@delay::float8) * interval '1 second' AS later
    FROM runs AS r
    WHERE r.namespace = @namespace AND r.run_id = @run_id AND r.wake_at <= clock_timestamp()
), changed AS (
    UPDATE runs AS r SET wake_at = l.later FROM locked AS l WHERE r.id = ANY (ARRAY[l.id])
), unscheduled AS (
    DELETE FROM due AS d USING locked AS l
    WHERE d.workflow = ANY (ARRAY[l.workflow]) AND d.version = l.version AND d.wake_at = l.wake_at AND d.run = l.id AND l.wake_at <> l.later
)
INSERT INTO due (workflow, version, wake_at, run, blocked)
SELECT l.workflow, l.version, l.later, l.id, l.status = 'blocked' FROM locked AS l WHERE l.wake_at <> l.later;

-- name: WakeBlocked :many
-- At most a page of them. Runs that are locked are left to WakeBlockedRun, so that nobody waits for several.
WITH locked AS MATERIALIZED (
    SELECT b.id, b.workflow, b.version, b.wake_at, clock_timestamp() AS earlier
    FROM ROWS FROM (unnest(@workflows::text[]), unnest(@versions::text[])) AS c (workflow, version)
    CROSS JOIN LATERAL (
        SELECT d.run, d.wake_at FROM due AS d
        WHERE d.workflow = c.workflow AND d.version = c.version AND d.blocked AND d.wake_at > clock_timestamp()
        OFFSET 0
    ) AS resting
    CROSS JOIN LATERAL (
        SELECT r.id, r.workflow, r.version, r.wake_at FROM runs AS r
        WHERE r.id = resting.run AND r.wake_at = resting.wake_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS b
    LIMIT @page::bigint
), changed AS (
    UPDATE runs AS r SET wake_at = l.earlier FROM locked AS l WHERE r.id = ANY (ARRAY[l.id])
), unscheduled AS (
    DELETE FROM due AS d USING locked AS l
    WHERE d.workflow = ANY (ARRAY[l.workflow]) AND d.version = l.version AND d.wake_at = l.wake_at AND d.run = l.id AND l.wake_at <> l.earlier
)
INSERT INTO due (workflow, version, wake_at, run, blocked)
SELECT l.workflow, l.version, l.earlier, l.id, true FROM locked AS l WHERE l.wake_at <> l.earlier
RETURNING run;

-- name: StillBlocked :many
-- What the last page of WakeBlocked, in the same transaction, passed over.
SELECT b.namespace, b.run_id
FROM ROWS FROM (unnest(@workflows::text[]), unnest(@versions::text[])) AS c (workflow, version)
CROSS JOIN LATERAL (
    SELECT d.run FROM due AS d
    WHERE d.workflow = c.workflow AND d.version = c.version AND d.blocked AND d.wake_at > clock_timestamp()
    OFFSET 0
) AS resting
CROSS JOIN LATERAL (SELECT r.namespace, r.run_id FROM runs AS r WHERE r.id = resting.run LIMIT 1) AS b
LIMIT @page::bigint;

-- name: WakeBlockedRun :exec
-- Looks at the run, locked before, again.
WITH locked AS MATERIALIZED (
    SELECT r.id, r.workflow, r.version, r.wake_at, clock_timestamp() AS earlier
    FROM runs AS r
    WHERE r.namespace = @namespace AND r.run_id = @run_id AND r.block_cause IS NOT NULL AND r.wake_at > clock_timestamp()
), changed AS (
    UPDATE runs AS r SET wake_at = l.earlier FROM locked AS l WHERE r.id = ANY (ARRAY[l.id])
), unscheduled AS (
    DELETE FROM due AS d USING locked AS l
    WHERE d.workflow = ANY (ARRAY[l.workflow]) AND d.version = l.version AND d.wake_at = l.wake_at AND d.run = l.id AND l.wake_at <> l.earlier
)
INSERT INTO due (workflow, version, wake_at, run, blocked)
SELECT l.workflow, l.version, l.earlier, l.id, true FROM locked AS l WHERE l.wake_at <> l.earlier;
