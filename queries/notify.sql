-- Hints between processes. They are never sent inside a transaction that writes: that would make commits queue up.

-- name: Notify :exec
SELECT pg_notify(@channel::text, @payload::text);
