-- name: Heartbeat :exec
-- In order, so that two processes that were given one name by mistake do not wait for each other crosswise.
INSERT INTO workers (process, workflow, version, seen_at)
SELECT @process::text, c.workflow, c.version, clock_timestamp()
FROM ROWS FROM (unnest(@workflows::text[]), unnest(@versions::text[])) AS c (workflow, version)
ORDER BY c.workflow COLLATE "C", c.version COLLATE "C"
ON CONFLICT (process, workflow, version) DO UPDATE SET seen_at = excluded.seen_at;

-- name: DropDeadWorkers :many
-- A few rows of processes that ended without saying so, a day ago or more.
DELETE FROM workers AS w USING (
    SELECT d.process, d.workflow, d.version FROM workers AS d
    WHERE d.seen_at < clock_timestamp() - interval '1 day'
    LIMIT 100 FOR UPDATE SKIP LOCKED
) AS dead
WHERE w.process = dead.process AND w.workflow = dead.workflow AND w.version = dead.version
RETURNING w.process;

-- name: LiveCodes :many
SELECT DISTINCT w.workflow, w.version FROM workers AS w
WHERE w.seen_at > clock_timestamp() - interval '30 seconds';

-- name: Leave :exec
-- Locks in the order of Heartbeat.
DELETE FROM workers AS w USING (
    SELECT own.process, own.workflow, own.version FROM workers AS own
    WHERE own.process = @process
    ORDER BY own.workflow, own.version FOR UPDATE
) AS mine
WHERE w.process = mine.process AND w.workflow = mine.workflow AND w.version = mine.version;
