-- What verifying reads: pages of runs by key, and everything of one run. No lock; a page is one snapshot.

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

-- name: KeepVerifyOrder :exec
-- The order comes from the keys: a plan without statistics would rather sort all events of a run, or all runs of a
-- namespace for the sake of one page.
SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);
