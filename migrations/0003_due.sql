-- +goose Up

-- due: the only schedule. What each kind of code has to do next: one row for each run that has a wake_at, and none for
-- parked and ended runs. Whoever changes the wake_at or the status of a run's row keeps it in the same transaction.
CREATE TABLE due (
    workflow text        COLLATE "C" NOT NULL,
    version  text        COLLATE "C" NOT NULL,
    wake_at  timestamptz NOT NULL,
    run      bigint      NOT NULL,
    blocked  boolean     NOT NULL,
    CONSTRAINT due_pkey PRIMARY KEY (workflow, version, wake_at, run)
);
-- What a process makes due at start-up, among any number of timers.
CREATE INDEX due_blocked ON due (workflow, version, run) WHERE blocked;

-- Reading goes on meanwhile; whoever writes a run waits until all that is scheduled is in the table.
LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO due (workflow, version, wake_at, run, blocked)
SELECT r.workflow, r.version, r.wake_at, r.id, r.status = 'blocked' FROM runs AS r WHERE r.wake_at IS NOT NULL;

-- Statements of this version write both tables and say so by flowgate.due. For whoever does not, a process of a version
-- before or an operator, the schema keeps the second. The conditions are short because each statement pays for reading them.
-- +goose StatementBegin
CREATE FUNCTION runs_keep_due() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.wake_at IS NOT NULL THEN
        DELETE FROM due WHERE workflow = OLD.workflow AND version = OLD.version AND wake_at = OLD.wake_at AND run = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.wake_at IS NOT NULL THEN
        INSERT INTO due (workflow, version, wake_at, run, blocked)
        VALUES (NEW.workflow, NEW.version, NEW.wake_at, NEW.id, NEW.status = 'blocked');
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER runs_due_insert AFTER INSERT ON runs
    FOR EACH ROW WHEN (current_setting('flowgate.due', true) IS DISTINCT FROM 'kept')
    EXECUTE FUNCTION runs_keep_due();
CREATE TRIGGER runs_due_update AFTER UPDATE ON runs
    FOR EACH ROW WHEN (current_setting('flowgate.due', true) IS DISTINCT FROM 'kept')
    EXECUTE FUNCTION runs_keep_due();
CREATE TRIGGER runs_due_delete AFTER DELETE ON runs
    FOR EACH ROW WHEN (OLD.wake_at IS NOT NULL)
    EXECUTE FUNCTION runs_keep_due();

-- +goose Down
