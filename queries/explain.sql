-- What is stored about a run beside its row and its events, for who asks why it does not go on. Each reads a few rows by a key.

-- name: ExplainTasks :many
-- How far the open tasks are that the run has named. A task that waits for nobody's time is due in the year 9999.
SELECT t.kind, t.task_id, t.attempt, t.failures, t.run_after, (t.worker IS NOT NULL)::boolean AS begun, t.held, t.last_error
FROM tasks AS t
WHERE t.run = @run AND t.generation = @generation::integer AND t.kind || '' IN ('step', 'child', 'call')
ORDER BY t.task_id, t.kind LIMIT @count::bigint;

-- name: ExplainLetters :many
-- Letters of steps that nobody has decided about, of this generation.
SELECT d.id, d.step_id, d.name, d.reason, d.code, d.message, d.state, d.created_at FROM dead_letters AS d
WHERE d.run = @run AND d.generation = @generation::integer AND d.resolved_at IS NULL
ORDER BY d.step_id, d.id LIMIT @count::bigint;

-- name: ExplainMessages :many
-- Messages for the run that the inbox holds or could not deliver, found among all that the namespace has there.
SELECT i.id, i.kind, i.name, i.source, i.state, i.reason, i.received_at FROM inbox AS i
WHERE i.namespace = @namespace AND i.resolved_at IS NULL AND i.run_id = @run_id
ORDER BY i.received_at, i.id LIMIT @count::bigint;
