-- What verifying reads: pages of runs by key, and everything of one run; then pages of what has a run. No lock; a page is
-- one snapshot.

-- name: VerifyRuns :many
SELECT r.* FROM runs AS r WHERE r.id > @after::bigint ORDER BY r.id LIMIT @count::bigint;

-- name: VerifyNamespace :many
-- That id > 0 is the condition of the index.
SELECT r.* FROM runs AS r
WHERE r.namespace = @namespace AND r.id > @after::bigint AND r.id > 0
ORDER BY r.id LIMIT @count::bigint;

-- name: VerifyEvents :many
SELECT e.* FROM events AS e WHERE e.run = @run::bigint ORDER BY e.seq;

-- name: VerifySignals :many
SELECT s.* FROM signals AS s WHERE s.run = @run::bigint ORDER BY s.signal_id;

-- name: VerifyHooks :many
SELECT h.* FROM hooks AS h WHERE h.run = @run::bigint ORDER BY h.hook_id;

-- name: VerifyTasks :many
SELECT t.* FROM tasks AS t WHERE t.run = @run::bigint ORDER BY t.generation, t.task_id, t.kind;

-- name: VerifyUpdates :many
SELECT u.* FROM updates AS u WHERE u.run = @run::bigint ORDER BY u.update_id;

-- name: KeepVerifyOrder :exec
-- The order comes from the keys: a plan without statistics would rather sort all events of a run, or all runs of a
-- namespace for the sake of one page.
SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);

-- name: VerifySchedule :many
-- Which of these runs have a wake_at and no entry in due that says so, or one that takes a blocked run for another one.
SELECT r.id, (d.blocked IS NULL)::boolean AS missing
FROM ROWS FROM (unnest(@runs::bigint[])) AS u (run)
CROSS JOIN LATERAL (
    SELECT r1.id, r1.workflow, r1.version, r1.wake_at, r1.status FROM runs AS r1
    WHERE r1.id = u.run AND r1.wake_at IS NOT NULL LIMIT 1
) AS r
LEFT JOIN LATERAL (
    SELECT d1.blocked FROM due AS d1
    WHERE d1.workflow = r.workflow AND d1.version = r.version AND d1.wake_at = r.wake_at AND d1.run = r.id LIMIT 1
) AS d ON true
WHERE d.blocked IS DISTINCT FROM (r.status = 'blocked');

-- name: VerifyDue :many
-- Entries of due behind one of them, in the order of their key, each with its run. Times go as text: infinity is none.
SELECT d.workflow, d.version, d.wake_at::text AS wake_at, d.run, coalesce(r.namespace, '')::text AS namespace,
    coalesce(r.run_id, '')::text AS run_id, (r.id IS NULL)::boolean AS orphan, (r.id IS NULL
        OR r.workflow <> d.workflow OR r.version <> d.version OR r.wake_at IS DISTINCT FROM d.wake_at)::boolean AS left_over
FROM (
    SELECT d1.workflow, d1.version, d1.wake_at, d1.run FROM due AS d1
    WHERE (d1.workflow, d1.version, d1.wake_at, d1.run)
        > (@workflow::text, @version::text, (@wake_at::text)::timestamptz, @run::bigint)
    ORDER BY d1.workflow, d1.version, d1.wake_at, d1.run LIMIT @count::bigint
) AS d
LEFT JOIN LATERAL (
    SELECT r1.id, r1.namespace, r1.run_id, r1.workflow, r1.version, r1.wake_at FROM runs AS r1 WHERE r1.id = d.run LIMIT 1
) AS r ON true
ORDER BY d.workflow, d.version, d.wake_at, d.run;

-- name: VerifyOwners :many
-- The runs that have events, signals, hooks, tasks or updates, behind one of them, by hops from key to key. left_over is what is
-- there of a run that is not.
WITH RECURSIVE hop AS (
    SELECT 0 AS n, @after::bigint AS run
    UNION ALL
    SELECT hop.n + 1, (
        SELECT min(ahead.run) FROM (
            (SELECT e.run FROM events AS e WHERE e.run > hop.run ORDER BY e.run LIMIT 1)
            UNION ALL (SELECT s.run FROM signals AS s WHERE s.run > hop.run ORDER BY s.run LIMIT 1)
            UNION ALL (SELECT h.run FROM hooks AS h WHERE h.run > hop.run ORDER BY h.run LIMIT 1)
            UNION ALL (SELECT t.run FROM tasks AS t WHERE t.run > hop.run ORDER BY t.run LIMIT 1)
            UNION ALL (SELECT u.run FROM updates AS u WHERE u.run > hop.run ORDER BY u.run LIMIT 1)
        ) AS ahead
    )
    FROM hop WHERE hop.run IS NOT NULL AND hop.n < @count::integer
)
SELECT hop.run::bigint AS run, CASE WHEN r.id IS NULL THEN concat_ws(', ',
    CASE WHEN EXISTS (SELECT FROM events AS e WHERE e.run = hop.run) THEN 'events' END,
    CASE WHEN EXISTS (SELECT FROM signals AS s WHERE s.run = hop.run) THEN 'signals' END,
    CASE WHEN EXISTS (SELECT FROM hooks AS h WHERE h.run = hop.run) THEN 'hooks' END,
    CASE WHEN EXISTS (SELECT FROM tasks AS t WHERE t.run = hop.run) THEN 'tasks' END,
    CASE WHEN EXISTS (SELECT FROM updates AS u WHERE u.run = hop.run) THEN 'updates' END
) ELSE '' END::text AS left_over
FROM hop
LEFT JOIN LATERAL (SELECT r1.id FROM runs AS r1 WHERE r1.id = hop.run LIMIT 1) AS r ON true
WHERE hop.n > 0 AND hop.run IS NOT NULL;
