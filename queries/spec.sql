-- name: InsertSpec :exec
INSERT INTO specs (digest, document) VALUES (@digest, @document) ON CONFLICT DO NOTHING;

-- name: InsertSpecVersion :execrows
-- Waits for a process that registers the same version, so that a later statement sees what it stored.
INSERT INTO spec_versions (name, version, digest) VALUES (@name, @version, @digest) ON CONFLICT DO NOTHING;

-- name: ReplaceSpecVersion :exec
UPDATE spec_versions AS v SET digest = @digest WHERE v.name = @name AND v.version = @version;

-- name: SpecByDigest :one
SELECT s.document FROM specs AS s WHERE s.digest = @digest;

-- name: SpecVersion :one
SELECT v.name, v.version, v.digest, s.document
FROM spec_versions AS v
JOIN specs AS s ON s.digest = v.digest
WHERE v.name = @name AND v.version = @version;

-- name: LatestSpecVersion :one
-- The version that was registered last; registering a known version again does not make it newer.
SELECT v.name, v.version, v.digest, s.document
FROM spec_versions AS v
JOIN specs AS s ON s.digest = v.digest
WHERE v.name = @name
ORDER BY v.registered_at DESC, v.version DESC LIMIT 1;

-- name: ListSpecs :many
SELECT v.name, v.version, v.digest, s.document
FROM spec_versions AS v
JOIN specs AS s ON s.digest = v.digest
ORDER BY v.name, v.registered_at, v.version;
