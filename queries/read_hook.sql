-- Plain reads of hooks. An active hook past its deadline counts as expired, by the database's clock.

-- name: ReadHook :one
SELECT sqlc.embed(h), r.namespace AS run_namespace, r.run_id, r.spec_digest, statement_timestamp()::timestamptz AS read_at
FROM hooks AS h
JOIN runs AS r ON r.id = ANY (ARRAY[h.run])
WHERE r.namespace = @namespace AND r.run_id = @run_id AND h.hook_id = @hook_id;

-- name: ResolveTokens :many
SELECT sqlc.embed(h), r.namespace AS run_namespace, r.run_id, r.spec_digest, statement_timestamp()::timestamptz AS read_at
FROM unnest(@token_digests::bytea[]) AS t (digest)
JOIN hooks AS h ON h.token_digest = ANY (ARRAY[t.digest])
JOIN runs AS r ON r.id = ANY (ARRAY[h.run])
ORDER BY h.id;

-- name: ListHooks :many
-- Newest first. An empty filter passes everything.
SELECT sqlc.embed(h), r.namespace AS run_namespace, r.run_id, r.spec_digest, statement_timestamp()::timestamptz AS read_at
FROM hooks AS h
JOIN runs AS r ON r.id = h.run
WHERE h.namespace = @namespace AND h.id < @before::bigint
    AND (@state::text <> 'active' OR h.state = 'active' AND (h.expires_at IS NULL OR h.expires_at > statement_timestamp()))
    AND (@state::text <> 'expired' OR h.state = 'expired' OR h.state = 'active' AND h.expires_at <= statement_timestamp())
    AND (@state::text IN ('', 'active', 'expired') OR h.state = @state::text)
    AND (@older_micros::bigint = 0 OR h.created_at <= statement_timestamp() - (@older_micros::bigint) * interval '1 microsecond')
ORDER BY h.id DESC LIMIT @count::bigint;

-- name: ListLabelledHooks :many
-- As ListHooks, of hooks that have all the labels. The partial index needs its own condition repeated.
SELECT sqlc.embed(h), r.namespace AS run_namespace, r.run_id, r.spec_digest, statement_timestamp()::timestamptz AS read_at
FROM hooks AS h
JOIN runs AS r ON r.id = h.run
WHERE h.namespace = @namespace AND h.id < @before::bigint
    AND (@state::text <> 'active' OR h.state = 'active' AND (h.expires_at IS NULL OR h.expires_at > statement_timestamp()))
    AND (@state::text <> 'expired' OR h.state = 'expired' OR h.state = 'active' AND h.expires_at <= statement_timestamp())
    AND (@state::text IN ('', 'active', 'expired') OR h.state = @state::text)
    AND (@older_micros::bigint = 0 OR h.created_at <= statement_timestamp() - (@older_micros::bigint) * interval '1 microsecond')
    AND h.labels <> '{}' AND h.labels @> @labels::jsonb
ORDER BY h.id DESC LIMIT @count::bigint;

-- name: ListRunHooks :many
-- As ListHooks, of one run; labels may be '{}'.
SELECT sqlc.embed(h), r.namespace AS run_namespace, r.run_id, r.spec_digest, statement_timestamp()::timestamptz AS read_at
FROM runs AS r
JOIN hooks AS h ON h.run = r.id
WHERE r.namespace = @namespace AND r.run_id = @run_id AND h.id < @before::bigint
    AND (@state::text <> 'active' OR h.state = 'active' AND (h.expires_at IS NULL OR h.expires_at > statement_timestamp()))
    AND (@state::text <> 'expired' OR h.state = 'expired' OR h.state = 'active' AND h.expires_at <= statement_timestamp())
    AND (@state::text IN ('', 'active', 'expired') OR h.state = @state::text)
    AND (@older_micros::bigint = 0 OR h.created_at <= statement_timestamp() - (@older_micros::bigint) * interval '1 microsecond')
    AND h.labels @> @labels::jsonb
ORDER BY h.id DESC LIMIT @count::bigint;
