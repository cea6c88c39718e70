-- +goose Up

-- updates: the receipt of each accepted update and what became of it, for the life of the run; the primary key is the
-- promise that one identity has one effect. The argument is in the event of seq, the result or the refusal in that of
-- resolved_seq.
CREATE TABLE updates (
    run          bigint      NOT NULL,
    update_id    text        COLLATE "C" NOT NULL,
    name         text        COLLATE "C" NOT NULL,
    digest       bytea       NOT NULL,
    seq          bigint      NOT NULL,
    received_at  timestamptz NOT NULL,
    source       text        NOT NULL,
    actor        text        NOT NULL,
    state        text        COLLATE "C" NOT NULL,
    resolved_at  timestamptz,
    resolved_seq bigint,
    CONSTRAINT updates_pkey PRIMARY KEY (run, update_id),
    CONSTRAINT updates_digest_length CHECK (octet_length(digest) = 32),
    CONSTRAINT updates_state CHECK (state IN ('open', 'completed', 'rejected', 'orphaned')),
    CONSTRAINT updates_resolved CHECK ((state = 'open') = (resolved_at IS NULL) AND (resolved_at IS NULL) = (resolved_seq IS NULL))
) WITH (fillfactor = 80);
-- What a run has not answered: counted when another one comes, and ended when the run is cancelled.
CREATE INDEX updates_open ON updates (run) WHERE resolved_at IS NULL;

-- +goose Down
