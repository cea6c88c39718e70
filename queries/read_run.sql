-- Plain reads of runs: no lock, one statement, one snapshot.

-- name: ViewRun :one
SELECT sqlc.embed(r), opening.payload AS input, ending.data AS ending, ending.payload AS output
FROM runs AS r
LEFT JOIN events AS opening ON opening.run = ANY (ARRAY[r.id]) AND opening.seq = r.first_seq
LEFT JOIN events AS ending ON ending.run = ANY (ARRAY[r.id]) AND ending.seq = r.next_seq - 1 AND r.closed_at IS NOT NULL
WHERE r.namespace = @namespace AND r.run_id = @run_id;

-- name: ReadRun :many
SELECT r.* FROM runs AS r WHERE r.namespace = @namespace AND r.run_id = @run_id;

-- name: ListRuns :many
-- Newest first. An empty filter passes everything. That id > 0 is the condition of the index.
SELECT r.* FROM runs AS r
WHERE r.namespace = @namespace AND r.id < @before::bigint AND r.id > 0
    AND (@workflow::text = '' OR r.workflow = @workflow::text)
    AND (@status::text = '' OR r.status = @status::text)
ORDER BY r.id DESC LIMIT @count::bigint;

-- name: ListLabelledRuns :many
-- As ListRuns, of runs that have all the labels. The partial index needs its own condition repeated.
SELECT r.* FROM runs AS r
WHERE r.namespace = @namespace AND r.id < @before::bigint AND r.id > 0
    AND (@workflow::text = '' OR r.workflow = @workflow::text)
    AND (@status::text = '' OR r.status = @status::text)
    AND r.labels <> '{}' AND r.labels @> @labels::jsonb
ORDER BY r.id DESC LIMIT @count::bigint;

-- name: EndedRuns :many
SELECT ended.namespace, ended.run_id
FROM ROWS FROM (unnest(@namespaces::text[]), unnest(@run_ids::text[])) AS k (namespace, run_id)
CROSS JOIN LATERAL (
    SELECT r.namespace, r.run_id FROM runs AS r
    WHERE r.namespace = k.namespace AND r.run_id = k.run_id AND r.closed_at IS NOT NULL LIMIT 1
) AS ended;

-- name: ReadSignal :one
SELECT s.* FROM signals AS s
JOIN runs AS r ON r.id = ANY (ARRAY[s.run])
WHERE r.namespace = @namespace AND r.run_id = @run_id AND s.signal_id = @signal_id;
