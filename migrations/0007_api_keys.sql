-- +goose Up

-- Processes that start, and backups, read the table keys. What waits for one of them holds up the others for a moment only:
-- it is tried again.
SET LOCAL lock_timeout = '2s';

-- api_keys: who may call the API. The key itself is in no column: digest is keyed with the digest key named beside it.
-- A NULL constraint allows everything. Rows are kept, so that the name of an actor in histories stays explained.
CREATE TABLE api_keys (
    key_id       text        COLLATE "C" NOT NULL,
    digest       bytea       NOT NULL,
    digest_key   text        COLLATE "C" NOT NULL,
    namespace    text        COLLATE "C" NOT NULL,
    name         text        COLLATE "C" NOT NULL,
    scopes       text[]      NOT NULL,
    run_id       text        COLLATE "C",
    hook_id      text        COLLATE "C",
    signals      text[],
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (key_id),
    CONSTRAINT api_keys_digest UNIQUE (digest),
    CONSTRAINT api_keys_digest_length CHECK (octet_length(digest) = 32),
    CONSTRAINT api_keys_hook CHECK (hook_id IS NULL OR run_id IS NOT NULL)
) WITH (fillfactor = 80);

-- Keys that sign tokens of our own are checked as the others are.
ALTER TABLE keys DROP CONSTRAINT keys_kind;
ALTER TABLE keys ADD CONSTRAINT keys_kind CHECK (kind IN ('mint', 'digest', 'sign'));

-- +goose Down
