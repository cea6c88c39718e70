-- Messages that wait for their run. Each statement is a transaction of its own and locks rows of the inbox only; whoever
-- takes several leaves out those that are locked. A state || '' keeps a look-up by key from being one by an index of states, and an
-- = ANY (ARRAY[…]) one by key from being a join.

-- name: HoldMessage :exec
-- Does nothing when the message is known, or its source has no room.
INSERT INTO inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, reason, received_at, deadline, try_at)
SELECT @namespace::text, @source::text, @message_id::text, @kind::text, @run_id::text, @name::text, @digest::bytea, @payload::bytea,
    @state::text, @reason::text, statement_timestamp(), statement_timestamp() + (@hold::float8) * interval '1 second', statement_timestamp()
WHERE (
    SELECT count(*) FROM (
        SELECT 1 FROM inbox AS o
        WHERE o.namespace = @namespace::text AND o.source = @source::text AND o.resolved_at IS NULL LIMIT @room::bigint
    ) AS taken
) < @room::bigint
ON CONFLICT (namespace, message_id) DO NOTHING;

-- name: KnownMessage :many
SELECT i.* FROM inbox AS i WHERE i.namespace = @namespace AND i.message_id = @message_id;

-- name: ReadMessage :many
SELECT i.* FROM inbox AS i WHERE i.id = @id AND i.namespace = @namespace;

-- name: ListMessages :many
-- Without their payloads. It is planned for its values; what is held or dead is found among what is not resolved.
SELECT i.id, i.namespace, i.source, i.message_id, i.kind, i.run_id, i.name, i.state, i.reason, i.received_at, i.deadline, i.attempt,
    i.resolved_at, i.actor
FROM inbox AS i
WHERE i.namespace = @namespace AND i.id > 0 AND i.id < @before::bigint AND (@state::text = '' OR i.state = @state::text)
    AND (@state::text NOT IN ('held', 'dead') OR i.resolved_at IS NULL)
    AND (@source::text = '' OR i.source = @source::text) AND (@run_id::text = '' OR i.run_id = @run_id::text)
    AND (@reason::text = '' OR i.reason = @reason::text)
ORDER BY i.id DESC LIMIT @count::bigint;

-- name: HeldMessages :many
-- How many held messages come behind one, as far as is asked, and which of these is the last.
SELECT count(*) AS messages, coalesce(max(w.id), 0)::bigint AS up_to
FROM (
    SELECT h.id FROM inbox AS h WHERE h.state = 'held' AND h.id > @after::bigint ORDER BY h.id LIMIT @most::bigint
) AS w;

-- name: TakeMessages :many
-- Takes messages for a while whose target is there now, or whose deadline has passed. A hook that is not there never will be
-- once its run has ended. Subqueries with a limit keep the look-ups from becoming joins over all runs.
UPDATE inbox AS i
SET attempt = i.attempt + 1, taken = true, try_at = statement_timestamp() + (@lease::float8) * interval '1 second'
FROM (
    SELECT h.id FROM inbox AS h
    WHERE h.state = 'held' AND h.id > @after::bigint AND h.id <= @up_to::bigint AND h.try_at <= statement_timestamp()
        AND (
            h.deadline <= statement_timestamp()
            OR coalesce((
                SELECT h.kind = 'signal' OR r.closed_at IS NOT NULL OR coalesce((
                    SELECT true FROM hooks AS k WHERE k.run = r.id AND k.hook_id = h.name LIMIT 1
                ), false)
                FROM runs AS r WHERE r.namespace = h.namespace AND r.run_id = h.run_id LIMIT 1
            ), false)
        )
    ORDER BY h.id LIMIT @most::bigint FOR UPDATE SKIP LOCKED
) AS ripe
WHERE i.id = ANY (ARRAY[ripe.id])
RETURNING sqlc.embed(i), (i.deadline <= statement_timestamp())::boolean AS late;

-- name: SettleMessage :many
-- By whoever has taken it. That it was delivered is a fact, whoever says so and whatever was decided meanwhile.
UPDATE inbox AS i
SET state = @state::text, reason = @reason::text, taken = false,
    resolved_at = CASE WHEN @state::text = 'delivered' THEN statement_timestamp() END
WHERE i.id = @id AND (
    i.state || '' = 'held' AND i.taken AND i.attempt = @attempt::integer
    OR @state::text = 'delivered' AND i.state || '' IN ('held', 'dead', 'discarded')
)
RETURNING i.id;

-- name: PostponeMessage :many
UPDATE inbox AS i SET taken = false, try_at = statement_timestamp() + (@pause::float8) * interval '1 second'
WHERE i.id = @id AND i.state || '' = 'held' AND i.taken AND i.attempt = @attempt::integer
RETURNING i.id;

-- name: ReplayMessage :many
-- It waits again as long as it was to wait at first, and a while at least.
UPDATE inbox AS i
SET state = 'held', reason = '', try_at = statement_timestamp(), actor = @actor::text,
    deadline = statement_timestamp() + greatest(i.deadline - i.received_at, (@least::float8) * interval '1 second')
WHERE i.id = @id AND i.namespace = @namespace AND i.state || '' = 'dead'
RETURNING i.run_id;

-- name: DiscardMessage :many
-- Unless somebody is delivering it.
UPDATE inbox AS i SET state = 'discarded', resolved_at = statement_timestamp(), taken = false, actor = @actor::text
WHERE i.id = @id AND i.namespace = @namespace AND i.state || '' IN ('held', 'dead') AND (NOT i.taken OR i.try_at <= statement_timestamp())
RETURNING i.run_id;

-- name: SweepMessages :many
-- A few that were delivered or discarded long ago.
DELETE FROM inbox AS i USING (
    SELECT o.id FROM inbox AS o
    WHERE o.resolved_at < statement_timestamp() - (@keep::float8) * interval '1 second'
    ORDER BY o.resolved_at LIMIT @most::bigint FOR UPDATE SKIP LOCKED
) AS old
WHERE i.id = ANY (ARRAY[old.id])
RETURNING i.id;
