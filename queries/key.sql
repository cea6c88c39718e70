-- name: InsertKeys :exec
INSERT INTO keys (kind, key_id, check_value)
SELECT u.kind, u.key_id, u.check_value
FROM ROWS FROM (unnest(@kinds::text[]), unnest(@key_ids::text[]), unnest(@check_values::bytea[]))
    AS u (kind, key_id, check_value)
ORDER BY u.kind, u.key_id
ON CONFLICT DO NOTHING;

-- name: ListKeys :many
SELECT k.kind, k.key_id, k.check_value FROM keys AS k ORDER BY k.kind, k.key_id;

-- name: UsedKeys :many
-- The distinct pairs of keys that hooks use. Hops through the index from one pair to the next, so the cost is that of the
-- number of pairs, not of hooks. Hooks whose token the host supplied have no mint key.
WITH RECURSIVE pair AS (
    SELECT first.digest_key, first.mint_key
    FROM (
        SELECT h.digest_key, coalesce(h.mint_key, '')::text AS mint_key FROM hooks AS h
        ORDER BY h.digest_key, coalesce(h.mint_key, '') LIMIT 1
    ) AS first
    UNION ALL
    SELECT further.digest_key, further.mint_key
    FROM pair AS p
    CROSS JOIN LATERAL (
        SELECT h.digest_key, coalesce(h.mint_key, '')::text AS mint_key FROM hooks AS h
        WHERE (h.digest_key, coalesce(h.mint_key, '')) > (p.digest_key, p.mint_key)
        ORDER BY h.digest_key, coalesce(h.mint_key, '') LIMIT 1
    ) AS further
)
SELECT pair.digest_key, pair.mint_key FROM pair;
