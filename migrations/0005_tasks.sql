-- +goose Up

-- parent: the run that asked for a run, as its first event says; NULL for one that a caller started.
ALTER TABLE runs ADD COLUMN parent jsonb;

-- tasks: what is done for runs outside their turns and is not done yet: steps, children, messages to other runs, and what
-- a child and its parent tell each other at their ends. A row goes in the transaction that appends the outcome. run_after
-- is when a worker may begin: of one that a worker has begun, it is the end of the lease, and of one that waits for
-- somebody else, a child or a person, the year 9999. attempt counts beginnings; an outcome names the attempt it is of.
-- What was tried so far is in no event.
CREATE TABLE tasks (
    run        bigint      NOT NULL,
    generation integer     NOT NULL,
    kind       text        COLLATE "C" NOT NULL,
    task_id    text        COLLATE "C" NOT NULL,
    name       text        COLLATE "C" NOT NULL,
    seq        bigint      NOT NULL, -- of the event that asks for it, 0 for a report and a stop
    target     text        COLLATE "C" NOT NULL,
    policy     text        COLLATE "C" NOT NULL,
    close_at   timestamptz,
    attempt    integer     NOT NULL DEFAULT 0,
    failures   integer     NOT NULL DEFAULT 0, -- attempts that failed since it was scheduled or replayed
    strikes    integer     NOT NULL DEFAULT 0, -- of those, attempts whose worker was lost
    run_after  timestamptz NOT NULL,
    worker     text        COLLATE "C", -- who has begun it
    held       boolean     NOT NULL DEFAULT false,
    details    bytea, -- of the last heartbeat
    last_error text,
    CONSTRAINT tasks_pkey PRIMARY KEY (run, generation, task_id, kind),
    CONSTRAINT tasks_kind CHECK (kind IN ('step', 'child', 'call', 'report', 'stop')),
    CONSTRAINT tasks_counts CHECK (attempt >= 0 AND failures >= 0 AND strikes >= 0 AND strikes <= failures),
    CONSTRAINT tasks_held CHECK (NOT held OR kind = 'step' AND worker IS NULL)
) WITH (fillfactor = 70);
-- What a worker looks for.
CREATE INDEX tasks_due ON tasks (kind, name, run_after);
-- Messages of a run to one other go one after the other.
CREATE INDEX tasks_calls ON tasks (run, target, seq) WHERE kind = 'call';

-- dead_letters: steps that failed for good, or that are held until somebody decides. Rows are kept.
CREATE TABLE dead_letters (
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    run         bigint      NOT NULL,
    namespace   text        COLLATE "C" NOT NULL,
    generation  integer     NOT NULL,
    step_id     text        COLLATE "C" NOT NULL,
    name        text        COLLATE "C" NOT NULL,
    reason      text        COLLATE "C" NOT NULL,
    code        text        NOT NULL,
    message     text        NOT NULL,
    attempt     integer     NOT NULL,
    created_at  timestamptz NOT NULL,
    state       text        COLLATE "C" NOT NULL, -- held, failed, replayed, discarded
    resolved_at timestamptz,
    actor       text        NOT NULL DEFAULT '',
    CONSTRAINT dead_letters_pkey PRIMARY KEY (id),
    CONSTRAINT dead_letters_state CHECK (state IN ('held', 'failed', 'replayed', 'discarded')),
    CONSTRAINT dead_letters_resolved CHECK ((resolved_at IS NULL) = (state IN ('held', 'failed')))
);
CREATE INDEX dead_letters_recent ON dead_letters (namespace, id DESC);
CREATE INDEX dead_letters_step ON dead_letters (run, generation, step_id);

-- +goose Down
