-- +goose Up

-- cancel_seq: the event of the first wish to cancel, beside its time, so that whoever asks again gets the receipt of then.
ALTER TABLE runs ADD COLUMN cancel_seq bigint;

UPDATE runs r
SET cancel_seq = (SELECT min(e.seq) FROM events e WHERE e.run = r.id AND e.type = 'run.cancel_requested')
WHERE r.cancel_requested_at IS NOT NULL;

ALTER TABLE runs
    ADD CONSTRAINT runs_cancel CHECK ((cancel_seq IS NULL) = (cancel_requested_at IS NULL)),
    ADD CONSTRAINT runs_cancelled CHECK (status <> 'cancelled' OR cancel_seq IS NOT NULL);

-- A process of the version before writes the time and does not know the column. It works on beside newer ones while they
-- replace it, so the schema looks up what it leaves out; it appends events before it updates the row. A newer process
-- writes both, and the function is not called. Once no such process can be left, a later migration drops it.
-- +goose StatementBegin
CREATE FUNCTION runs_cancel_seq() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.cancel_seq := (SELECT min(e.seq) FROM events e WHERE e.run = NEW.id AND e.type = 'run.cancel_requested');
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER runs_cancel_seq BEFORE UPDATE ON runs
    FOR EACH ROW WHEN (NEW.cancel_requested_at IS NOT NULL AND NEW.cancel_seq IS NULL)
    EXECUTE FUNCTION runs_cancel_seq();

-- +goose Down
