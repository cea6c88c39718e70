-- name: GenerationEvents :many
-- The events of a run's current generation.
SELECT e.* FROM runs AS r
JOIN events AS e ON e.run = r.id AND e.seq >= r.first_seq
WHERE r.namespace = @namespace AND r.run_id = @run_id
ORDER BY e.seq;

-- name: PageEvents :many
-- A page of the newest generation, or of the one named. Seqs have no gap and generations only grow with them, so the first
-- seq of an earlier generation is found by bisection instead of by reading all that lies before it.
WITH RECURSIVE target AS (
    SELECT r.id, r.first_seq, r.next_seq, r.generation AS newest,
        CASE WHEN @generation::integer = 0 THEN r.generation ELSE @generation::integer END AS generation
    FROM runs AS r
    WHERE r.namespace = @namespace AND r.run_id = @run_id
), search AS (
    SELECT t.id, t.generation,
        CASE WHEN t.generation < t.newest THEN 1::bigint ELSE t.first_seq END AS low,
        CASE WHEN t.generation > t.newest THEN t.next_seq ELSE t.first_seq END AS high
    FROM target AS t
    UNION ALL
    SELECT s.id, s.generation,
        CASE WHEN probe.generation < s.generation THEN (s.low + s.high) / 2 + 1 ELSE s.low END,
        CASE WHEN probe.generation < s.generation THEN s.high ELSE (s.low + s.high) / 2 END
    FROM search AS s
    JOIN events AS probe ON probe.run = s.id AND probe.seq = (s.low + s.high) / 2
    WHERE s.low < s.high
)
SELECT e.*
FROM search AS found
JOIN events AS e ON e.run = found.id AND e.seq >= greatest(found.low, (@after::bigint) + 1) AND e.generation = found.generation
WHERE found.low = found.high
ORDER BY e.seq LIMIT @count::bigint;
