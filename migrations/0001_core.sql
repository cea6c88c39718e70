-- +goose Up

-- specs: what a workflow declares, stored once per content. Runs point at the content they started with, so a spec is
-- never changed or deleted while a run uses it.
CREATE TABLE specs (
    digest        bytea       NOT NULL,
    document      json        NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT specs_pkey PRIMARY KEY (digest),
    CONSTRAINT specs_digest_length CHECK (octet_length(digest) = 32)
);

-- spec_versions: which content a (name, version) means. Immutable, except that dev mode replaces it.
CREATE TABLE spec_versions (
    name          text        COLLATE "C" NOT NULL,
    version       text        COLLATE "C" NOT NULL,
    digest        bytea       NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT spec_versions_pkey PRIMARY KEY (name, version),
    CONSTRAINT spec_versions_digest_fkey FOREIGN KEY (digest) REFERENCES specs (digest)
);

-- workers: which process can advance which code; a row older than half a minute is dead.
CREATE TABLE workers (
    process  text        COLLATE "C" NOT NULL,
    workflow text        COLLATE "C" NOT NULL,
    version  text        COLLATE "C" NOT NULL,
    seen_at  timestamptz NOT NULL,
    CONSTRAINT workers_pkey PRIMARY KEY (process, workflow, version)
);
CREATE INDEX workers_code ON workers (workflow, version, seen_at);

-- keys: a check value per token key, so that a process with another secret under a known key ID is found at start-up.
CREATE TABLE keys (
    kind        text        COLLATE "C" NOT NULL,
    key_id      text        COLLATE "C" NOT NULL,
    check_value bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT keys_pkey PRIMARY KEY (kind, key_id),
    CONSTRAINT keys_kind CHECK (kind IN ('mint', 'digest'))
);

-- runs: one narrow row per run, locked by whoever changes the run. It is a projection of events, but for wake_at,
-- block_attempts and block_diagnosis.
CREATE TABLE runs (
    id                  bigint      GENERATED ALWAYS AS IDENTITY,
    namespace           text        COLLATE "C" NOT NULL,
    run_id              text        COLLATE "C" NOT NULL,
    workflow            text        COLLATE "C" NOT NULL,
    version             text        COLLATE "C" NOT NULL,
    spec_digest         bytea       NOT NULL,
    input_digest        bytea       NOT NULL,
    labels              jsonb       NOT NULL DEFAULT '{}',
    status              text        COLLATE "C" NOT NULL DEFAULT 'running',
    generation          integer     NOT NULL DEFAULT 1,
    first_seq           bigint      NOT NULL DEFAULT 1,
    next_seq            bigint      NOT NULL DEFAULT 1,
    backlog             integer     NOT NULL DEFAULT 0,
    cancel_requested_at timestamptz,
    block_cause         text        COLLATE "C",
    block_diagnosis     text,
    block_attempts      integer     NOT NULL DEFAULT 0,
    wake_at             timestamptz,
    started_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    closed_at           timestamptz,
    CONSTRAINT runs_pkey PRIMARY KEY (id),
    CONSTRAINT runs_run_id UNIQUE (namespace, run_id),
    CONSTRAINT runs_spec_fkey FOREIGN KEY (spec_digest) REFERENCES specs (digest),
    CONSTRAINT runs_status CHECK (status IN ('running', 'blocked', 'completed', 'failed', 'cancelled')),
    CONSTRAINT runs_closed CHECK ((closed_at IS NOT NULL) = (status IN ('completed', 'failed', 'cancelled'))),
    CONSTRAINT runs_blocked CHECK ((block_cause IS NOT NULL) = (status = 'blocked')),
    CONSTRAINT runs_ended_sleeps CHECK (closed_at IS NULL OR wake_at IS NULL),
    CONSTRAINT runs_seq CHECK (1 <= first_seq AND first_seq <= next_seq),
    CONSTRAINT runs_backlog CHECK (backlog >= 0)
) WITH (fillfactor = 80);

-- The only schedule: what each kind of code has to do next. Parked and ended runs are not in it.
CREATE INDEX runs_due ON runs (workflow, version, wake_at) WHERE wake_at IS NOT NULL;
-- What a process makes due at start-up, among any number of parked timers.
CREATE INDEX runs_blocked_code ON runs (workflow, version) WHERE status = 'blocked';
-- Lists, newest first, with and without a workflow; labels by containment.
-- The condition holds for every row; lists repeat it. Without it the planner may keep a plan that looks single runs up in
-- this index, made while the table was small and both indexes cost the same.
CREATE INDEX runs_recent ON runs (namespace, id DESC) WHERE id > 0;
CREATE INDEX runs_labels ON runs USING gin (labels jsonb_path_ops) WHERE labels <> '{}';

-- events: the truth. seq runs on over the generations of a run; data never holds a token, payload is kept as received.
CREATE TABLE events (
    run        bigint      NOT NULL,
    seq        bigint      NOT NULL,
    generation integer     NOT NULL,
    type       text        COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    data       json        NOT NULL,
    payload    bytea,
    CONSTRAINT events_pkey PRIMARY KEY (run, seq),
    CONSTRAINT events_run_fkey FOREIGN KEY (run) REFERENCES runs (id)
);

-- signals: the receipt of each accepted message, for the life of the run; the primary key is the promise that one
-- identity has one effect. The payload is in the event of the same seq.
CREATE TABLE signals (
    run                 bigint      NOT NULL,
    signal_id           text        COLLATE "C" NOT NULL,
    name                text        COLLATE "C" NOT NULL,
    digest              bytea       NOT NULL,
    seq                 bigint      NOT NULL,
    received_at         timestamptz NOT NULL,
    source              text        NOT NULL,
    actor               text        NOT NULL,
    consumed_by         text,
    consumed_generation integer,
    CONSTRAINT signals_pkey PRIMARY KEY (run, signal_id),
    CONSTRAINT signals_run_fkey FOREIGN KEY (run) REFERENCES runs (id),
    CONSTRAINT signals_digest_length CHECK (octet_length(digest) = 32),
    CONSTRAINT signals_consumed CHECK ((consumed_by IS NULL) = (consumed_generation IS NULL))
) WITH (fillfactor = 80);

-- hooks: one row per hook, for the life of the run. A token digest is unique for all time and over all namespaces and is
-- never freed, so a late redelivery can never reach another run.
CREATE TABLE hooks (
    id             bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    run            bigint      NOT NULL,
    namespace      text        COLLATE "C" NOT NULL, -- of the run, so that a list reads one tenant's hooks only
    hook_id        text        COLLATE "C" NOT NULL,
    name           text        COLLATE "C" NOT NULL,
    metadata       jsonb       NOT NULL,
    labels         jsonb       NOT NULL DEFAULT '{}',
    token_digest   bytea       NOT NULL,
    digest_key     text        COLLATE "C" NOT NULL,
    mint_key       text        COLLATE "C",
    nonce          bytea,
    state          text        COLLATE "C" NOT NULL,
    payload_digest bytea,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz,
    resolved_at    timestamptz,
    resolved_seq   bigint,
    source         text        NOT NULL DEFAULT '',
    actor          text        NOT NULL DEFAULT '',
    CONSTRAINT hooks_pkey PRIMARY KEY (run, hook_id),
    CONSTRAINT hooks_token UNIQUE (token_digest),
    CONSTRAINT hooks_run_fkey FOREIGN KEY (run) REFERENCES runs (id),
    CONSTRAINT hooks_digest_length CHECK (octet_length(token_digest) = 32),
    CONSTRAINT hooks_state CHECK (state IN ('active', 'resumed', 'disposed', 'expired', 'cancelled', 'run_ended')),
    CONSTRAINT hooks_resolved CHECK ((state = 'active') = (resolved_at IS NULL)),
    CONSTRAINT hooks_answer CHECK ((state = 'resumed') = (payload_digest IS NOT NULL)),
    CONSTRAINT hooks_minted CHECK ((mint_key IS NULL) = (nonce IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX hooks_recent ON hooks (namespace, id DESC);
CREATE INDEX hooks_active ON hooks (namespace, id DESC) WHERE state = 'active';
CREATE INDEX hooks_labels ON hooks USING gin (labels jsonb_path_ops) WHERE labels <> '{}';
-- Which keys the hooks use: a start-up check hops from one pair to the next.
CREATE INDEX hooks_keys ON hooks (digest_key, (coalesce(mint_key, '')));

-- +goose Down
