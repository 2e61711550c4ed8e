-- Whether the package states its time limit (1) or it is to be inferred (0); NULL: nobody has looked yet.
ALTER TABLE problem_versions ADD COLUMN stated BIGINT;

-- The time limit of a version that states none, in a pool; an empty pool: for what is of no contest. `submission` is what infers it;
-- NULL: nobody was asked. Without `body` it is not known yet. `node` and `node_pool` are where it was inferred.
CREATE TABLE time_limits (
    version BIGINT NOT NULL REFERENCES problem_versions (id),
    pool TEXT NOT NULL,
    submission BIGINT REFERENCES submissions (id),
    found BIGINT,
    node TEXT,
    node_pool TEXT,
    form BIGINT,
    body TEXT,
    PRIMARY KEY (version, pool),
    CHECK ((body IS NULL) = (form IS NULL)),
    CHECK ((body IS NULL) = (found IS NULL))
);
CREATE INDEX time_limits_submission ON time_limits (submission) WHERE submission IS NOT NULL;

-- What the first worker that judged found was everybody's.
INSERT INTO time_limits (version, pool, found, form, body)
    SELECT v.id, p.pool, v.created, 1, s.value
    FROM settings s JOIN problem_versions v ON s.name = 'time_limit/' || v.id
    CROSS JOIN (SELECT '' AS pool UNION SELECT pool FROM contests) AS p;
UPDATE problem_versions SET stated = 0 WHERE id IN (SELECT version FROM time_limits);
DELETE FROM settings WHERE name LIKE 'time_limit/%';

-- 1 while a job that is queued waits for its time limit: nobody gets it.
ALTER TABLE jobs ADD COLUMN awaits BIGINT;
DROP INDEX jobs_next;
CREATE INDEX jobs_next ON jobs (COALESCE(place, ''), urgency, contest, fresh, ticket, id) WHERE state = 'queued' AND awaits IS NULL;
CREATE INDEX jobs_awaiting ON jobs (version) WHERE awaits IS NOT NULL;
