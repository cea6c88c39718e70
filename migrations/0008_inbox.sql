-- +goose Up

-- inbox: messages of the outside world that no run could be given when they came, because it was not there yet or refused
-- them. It is a projection of nothing: the only record of a message until that is delivered, whose receipt is then the
-- run's. Rows that are delivered or discarded go after a while.
CREATE TABLE inbox (
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    namespace   text        COLLATE "C" NOT NULL,
    source      text        COLLATE "C" NOT NULL,
    message_id  text        COLLATE "C" NOT NULL, -- the identity of the message: what a signal ID is made of
    kind        text        COLLATE "C" NOT NULL,
    run_id      text        COLLATE "C" NOT NULL,
    name        text        COLLATE "C" NOT NULL, -- of the signal, or the ID of the hook
    digest      bytea       NOT NULL,
    payload     bytea       NOT NULL,
    state       text        COLLATE "C" NOT NULL,
    reason      text        COLLATE "C" NOT NULL DEFAULT '', -- why it is dead, or was when it was discarded
    received_at timestamptz NOT NULL,
    deadline    timestamptz NOT NULL,
    attempt     integer     NOT NULL DEFAULT 0,
    taken       boolean     NOT NULL DEFAULT false, -- somebody is delivering it, until try_at
    try_at      timestamptz NOT NULL,
    resolved_at timestamptz,
    actor       text        NOT NULL DEFAULT '', -- who decided
    CONSTRAINT inbox_pkey PRIMARY KEY (id),
    CONSTRAINT inbox_message UNIQUE (namespace, message_id),
    CONSTRAINT inbox_kind CHECK (kind IN ('signal', 'hook')),
    CONSTRAINT inbox_state CHECK (state IN ('held', 'dead', 'delivered', 'discarded')),
    CONSTRAINT inbox_reason CHECK ((state = 'dead') <= (reason <> '') AND (state IN ('held', 'delivered')) <= (reason = '')),
    CONSTRAINT inbox_resolved CHECK ((resolved_at IS NOT NULL) = (state IN ('delivered', 'discarded'))),
    CONSTRAINT inbox_taken CHECK (NOT taken OR state = 'held'),
    CONSTRAINT inbox_digest CHECK (octet_length(digest) = 32)
) WITH (fillfactor = 80);
-- Lists of a namespace. The condition keeps it from serving look-ups by identity.
CREATE INDEX inbox_recent ON inbox (namespace, id DESC) WHERE id > 0;
-- What may be delivered, in the order it came.
CREATE INDEX inbox_held ON inbox (id) WHERE state = 'held';
-- What a source has in it.
CREATE INDEX inbox_room ON inbox (namespace, source) WHERE resolved_at IS NULL;
-- What goes.
CREATE INDEX inbox_resolved_at ON inbox (resolved_at) WHERE resolved_at IS NOT NULL;

-- +goose Down
