-- name: InsertAPIKey :exec
INSERT INTO api_keys (key_id, digest, digest_key, namespace, name, scopes, run_id, hook_id, signals, created_at, expires_at)
VALUES (@key_id, @digest, @digest_key, @namespace, @name, @scopes, sqlc.narg('run_id'), sqlc.narg('hook_id'),
    sqlc.narg('signals'), @created_at, sqlc.narg('expires_at'));

-- name: FindAPIKeys :many
-- The keys of digests, whatever became of them.
SELECT k.* FROM api_keys AS k WHERE k.digest = ANY (@digests::bytea[]);

-- name: ReadAPIKeys :many
SELECT k.* FROM api_keys AS k WHERE k.key_id = ANY (@key_ids::text[]);

-- name: TouchAPIKey :exec
-- Whoever finds the row locked leaves it to the other one, who does the same.
WITH stale AS (
    SELECT k.key_id FROM api_keys AS k
    WHERE k.key_id = @key_id AND (k.last_used_at IS NULL OR k.last_used_at <= @before::timestamptz)
    FOR UPDATE SKIP LOCKED
)
UPDATE api_keys AS k SET last_used_at = @used_at::timestamptz WHERE k.key_id = @key_id AND EXISTS (SELECT FROM stale);

-- name: RevokeAPIKey :many
-- The first time stands.
UPDATE api_keys AS k SET revoked_at = coalesce(k.revoked_at, @revoked_at::timestamptz)
WHERE k.key_id = @key_id
RETURNING k.*;

-- name: ListAPIKeys :many
SELECT k.* FROM api_keys AS k
WHERE @namespace::text IN ('', k.namespace) AND k.key_id > @after::text
ORDER BY k.key_id LIMIT @count;

-- name: KeysOfAPIKeys :many
-- The digest keys that API keys in use are looked up with.
SELECT DISTINCT k.digest_key FROM api_keys AS k
WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
ORDER BY k.digest_key;
