-- +goose NO TRANSACTION
-- +goose Up

-- Each statement by itself, and patient for a moment only: none of them holds up readers and writers for longer, and two of
-- them never hold locks that somebody wants in the other order. What was done is not done again when it is repeated.
SET lock_timeout = '2s';

-- A run's row changes a few times in its life, and no index holds what changes. So a change writes the row alone (a HOT
-- update), as long as its page has room, which the lower fill leaves. A process of the version before, which claims by
-- these indexes, goes on working but reads the whole table for each claim: replace it soon.
ALTER TABLE runs SET (fillfactor = 60);
DROP INDEX CONCURRENTLY IF EXISTS runs_due;
DROP INDEX CONCURRENTLY IF EXISTS runs_blocked_code;

-- Events, signals and hooks are written under the lock of their run's row, which is there therefore; a reference checks
-- that once more for every row, at the cost of a query each.
ALTER TABLE events DROP CONSTRAINT IF EXISTS events_run_fkey;
ALTER TABLE signals DROP CONSTRAINT IF EXISTS signals_run_fkey;
ALTER TABLE hooks DROP CONSTRAINT IF EXISTS hooks_run_fkey;

RESET lock_timeout;

-- +goose Down
