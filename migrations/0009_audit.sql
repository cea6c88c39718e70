-- +goose Up

-- audit: who asked for what, and what was said: one row for each message that was accepted, written in the transaction of
-- its receipt, and one for each refusal of a caller who is known. It is a projection of nothing and decides nothing. Rows are
-- only ever added; those that are too old go, where that is asked for. A text that says nothing is empty.
CREATE TABLE audit (
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    at             timestamptz NOT NULL,
    namespace      text        COLLATE "C" NOT NULL,
    run            bigint,                            -- of the row of runs; NULL where there is none
    run_id         text        COLLATE "C" NOT NULL,
    kind           text        COLLATE "C" NOT NULL,
    name           text        COLLATE "C" NOT NULL,  -- of the signal, the update or the hook; of a start, the workflow
    identity       text        COLLATE "C" NOT NULL,  -- of the message: what makes a repeated one a duplicate
    seq            bigint      NOT NULL,              -- of the event that holds it; 0: there is none
    verdict        text        COLLATE "C" NOT NULL,
    why            text        COLLATE "C" NOT NULL,  -- of a refusal
    actor          text        NOT NULL,
    source         text        NOT NULL,
    method         text        COLLATE "C" NOT NULL,  -- how the caller proved who it is
    credential     text        COLLATE "C" NOT NULL,  -- the public name of what it proved it with, never a secret
    payload_digest bytea,
    subject_digest bytea,                             -- of what a person was shown
    request_id     text        COLLATE "C" NOT NULL,
    trace          text        COLLATE "C" NOT NULL,  -- W3C traceparent
    peer           text        COLLATE "C" NOT NULL,  -- the network that the request came from
    CONSTRAINT audit_pkey PRIMARY KEY (id),
    CONSTRAINT audit_seq CHECK (seq >= 0),
    CONSTRAINT audit_payload_digest CHECK (payload_digest IS NULL OR octet_length(payload_digest) = 32),
    CONSTRAINT audit_subject_digest CHECK (subject_digest IS NULL OR octet_length(subject_digest) = 32)
);
-- Lists, newest first: of a namespace, and of a run. They are in the order of -id, which the primary key cannot stand in for:
-- else the planner keeps a plan, made while the table was small, that reads what all runs have.
CREATE INDEX audit_recent ON audit (namespace, (-id));
CREATE INDEX audit_run ON audit (run, (-id)) WHERE run IS NOT NULL;
-- The last refusals of a run, which are few among what it accepted.
CREATE INDEX audit_refused ON audit (run, (-id)) WHERE verdict <> 'accepted';

-- +goose StatementBegin
CREATE FUNCTION audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('flowgate.retention', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the audit trail only grows' USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_only_grows();

-- +goose Down
