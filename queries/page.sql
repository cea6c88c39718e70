-- Approval pages: links to a hook for one person each.

-- name: LockPageHook :exec
-- Those who make pages of one hook follow one another, so that the room for them is not overrun. Waits for whoever settles
-- the hook, and holds nothing else.
SELECT h.run
FROM runs AS r
JOIN hooks AS h ON h.run = ANY (ARRAY[r.id])
WHERE r.namespace = @namespace AND r.run_id = @run_id AND h.hook_id = @hook_id
FOR NO KEY UPDATE OF h;

-- name: InsertPage :exec
-- Nothing is inserted for a hook that is not open, which is one that was resolved, where the recipient has a page, and where there is no room for another.
INSERT INTO pages (run, hook_id, recipient, token_digest, digest_key, mint_key, nonce)
SELECT h.run, h.hook_id, @recipient::text, @token_digest::bytea, @digest_key::text, @mint_key::text, @nonce::bytea
FROM runs AS r
JOIN hooks AS h ON h.run = ANY (ARRAY[r.id])
WHERE r.namespace = @namespace AND r.run_id = @run_id AND h.hook_id = @hook_id
    AND h.resolved_at IS NULL AND (h.expires_at IS NULL OR h.expires_at > statement_timestamp())
    AND (SELECT count(*) FROM pages AS p WHERE p.run = h.run AND p.hook_id = h.hook_id) < @room::bigint
ON CONFLICT (run, hook_id, recipient) DO NOTHING;

-- name: ReadPage :one
SELECT p.*
FROM runs AS r
JOIN pages AS p ON p.run = ANY (ARRAY[r.id])
WHERE r.namespace = @namespace AND r.run_id = @run_id AND p.hook_id = @hook_id AND p.recipient = @recipient;

-- name: ResolvePage :many
-- The hook that a page is about, and whose page it is.
SELECT sqlc.embed(h), r.namespace AS run_namespace, r.run_id, r.spec_digest, statement_timestamp()::timestamptz AS read_at,
    p.recipient
FROM unnest(@token_digests::bytea[]) AS t (digest)
JOIN pages AS p ON p.token_digest = ANY (ARRAY[t.digest])
JOIN hooks AS h ON h.run = ANY (ARRAY[p.run]) AND h.hook_id = p.hook_id
JOIN runs AS r ON r.id = ANY (ARRAY[h.run]);

-- name: HookAnswer :one
-- The answer to a hook, as it was received.
SELECT e.payload
FROM runs AS r
JOIN hooks AS h ON h.run = ANY (ARRAY[r.id])
JOIN events AS e ON e.run = ANY (ARRAY[h.run]) AND e.seq = h.resolved_seq
WHERE r.namespace = @namespace AND r.run_id = @run_id AND h.hook_id = @hook_id AND h.state = 'resumed';

-- name: UsedPageKeys :many
-- The distinct pairs of keys that pages use, as UsedKeys finds those of hooks.
WITH RECURSIVE pair AS (
    SELECT first.digest_key, first.mint_key
    FROM (SELECT p.digest_key, p.mint_key FROM pages AS p ORDER BY p.digest_key, p.mint_key LIMIT 1) AS first
    UNION ALL
    SELECT further.digest_key, further.mint_key
    FROM pair AS p
    CROSS JOIN LATERAL (
        SELECT q.digest_key, q.mint_key FROM pages AS q
        WHERE (q.digest_key, q.mint_key) > (p.digest_key, p.mint_key)
        ORDER BY q.digest_key, q.mint_key LIMIT 1
    ) AS further
)
SELECT pair.digest_key, pair.mint_key FROM pair;
