-- The figures of operators. Each statement looks at a bounded number of rows, whatever the tables hold.

-- name: GaugeHooks :many
SELECT count(*) AS active, coalesce(extract(epoch FROM now() - min(h.created_at)), 0)::float8 AS oldest_age,
    count(*) FILTER (WHERE h.expires_at < now()) AS overdue
FROM (SELECT a.created_at, a.expires_at FROM hooks AS a WHERE a.state = 'active' LIMIT @most::bigint) AS h;

-- name: GaugeRuns :many
-- Of the newest runs.
SELECT r.status, count(*) AS runs, sum(r.backlog)::bigint AS unread
FROM (SELECT n.status, n.backlog FROM runs AS n ORDER BY n.id DESC LIMIT @most::bigint) AS r
GROUP BY r.status;

-- name: GaugeBlocked :many
-- Each blocked run has an entry in due.
SELECT coalesce(r.block_cause, '')::text AS cause, count(*) AS runs
FROM (SELECT d.run FROM due AS d WHERE d.blocked LIMIT @most::bigint) AS b
CROSS JOIN LATERAL (SELECT o.block_cause FROM runs AS o WHERE o.id = b.run AND o.status = 'blocked') AS r
GROUP BY r.block_cause;

-- name: GaugeDue :many
-- Hops through the index from one code to the next. Only what is due is counted.
WITH RECURSIVE code AS (
    SELECT first.workflow, first.version
    FROM (SELECT d.workflow, d.version FROM due AS d ORDER BY d.workflow, d.version LIMIT 1) AS first
    UNION ALL
    SELECT further.workflow, further.version
    FROM code AS c
    CROSS JOIN LATERAL (
        SELECT d.workflow, d.version FROM due AS d
        WHERE (d.workflow, d.version) > (c.workflow, c.version)
        ORDER BY d.workflow, d.version LIMIT 1
    ) AS further
)
SELECT
    coalesce(sum(waiting.runs) FILTER (WHERE NOT waiting.has_code), 0)::bigint AS without_code,
    coalesce(max(waiting.age) FILTER (WHERE waiting.has_code), 0)::float8 AS oldest_age
FROM code CROSS JOIN LATERAL (
    SELECT count(*) AS runs, extract(epoch FROM now() - min(w.wake_at)) AS age,
        EXISTS (
            SELECT 1 FROM workers AS l
            WHERE l.workflow = code.workflow AND l.version = code.version AND l.seen_at > now() - interval '30 seconds'
        ) AS has_code
    FROM (
        SELECT d.wake_at FROM due AS d
        WHERE d.workflow = code.workflow AND d.version = code.version AND d.wake_at <= now()
        ORDER BY d.wake_at LIMIT @most::bigint
    ) AS w
) AS waiting;

-- name: GaugeLetters :many
-- Of the newest dead letters.
SELECT l.state, count(*) AS letters
FROM (SELECT d.state FROM dead_letters AS d ORDER BY d.id DESC LIMIT @most::bigint) AS l
GROUP BY l.state;

-- name: GaugeInbox :many
SELECT m.state, count(*) AS messages
FROM (SELECT i.state FROM inbox AS i WHERE i.resolved_at IS NULL LIMIT @most::bigint) AS m
GROUP BY m.state;

-- name: GaugeKeys :many
-- Hops through the index from one key to the next.
WITH RECURSIVE key AS (
    SELECT first.digest_key FROM (SELECT h.digest_key FROM hooks AS h ORDER BY h.digest_key LIMIT 1) AS first
    UNION ALL
    SELECT further.digest_key
    FROM key AS k
    CROSS JOIN LATERAL (
        SELECT h.digest_key FROM hooks AS h WHERE h.digest_key > k.digest_key ORDER BY h.digest_key LIMIT 1
    ) AS further
)
SELECT key.digest_key, used.hooks
FROM key CROSS JOIN LATERAL (
    SELECT count(*) AS hooks
    FROM (SELECT 1 AS one FROM hooks AS h WHERE h.digest_key = key.digest_key LIMIT @most::bigint) AS h
) AS used;
