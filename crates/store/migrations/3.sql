-- What a pool is and how its contests are judged are documents of those who schedule (crate `fleet`).
CREATE TABLE pools (
    name TEXT PRIMARY KEY,
    form TEXT NOT NULL,
    created BIGINT NOT NULL
);

-- `usual` is where its jobs wait that confirm nothing; NULL: anywhere. At most `at_once` of its jobs are out at a time.
CREATE TABLE contests (
    id {id},
    name TEXT NOT NULL UNIQUE,
    pool TEXT NOT NULL REFERENCES pools (name),
    usual TEXT REFERENCES pools (name),
    at_once BIGINT,
    policy TEXT NOT NULL,
    created BIGINT NOT NULL
);

ALTER TABLE submissions ADD COLUMN contest BIGINT REFERENCES contests (id);
CREATE INDEX submissions_contest ON submissions (contest, id) WHERE contest IS NOT NULL;

-- `contest` is 0 where there is none. `place` is the pool that must do it; NULL: any. `not_on` is a JSON list of nodes. `round` is the first
-- job of the round; NULL: this one. `fresh` is 0 where it goes on with a round, before those that begin one. `pool` and `node` are where it
-- is or was judged; a claim without `started` is a ticket that nobody has begun. A cancelled job is judged, without a judgement.
ALTER TABLE jobs ADD COLUMN contest BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN place TEXT;
ALTER TABLE jobs ADD COLUMN not_on TEXT;
ALTER TABLE jobs ADD COLUMN round BIGINT REFERENCES jobs (id);
ALTER TABLE jobs ADD COLUMN fresh BIGINT NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN confirm BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN why TEXT;
ALTER TABLE jobs ADD COLUMN node TEXT;
ALTER TABLE jobs ADD COLUMN pool TEXT;
ALTER TABLE jobs ADD COLUMN started BIGINT;
ALTER TABLE jobs ADD COLUMN finished BIGINT;
ALTER TABLE jobs ADD COLUMN cancelled TEXT;
ALTER TABLE jobs ADD COLUMN answer TEXT;

-- Whether it is what its round came to.
ALTER TABLE judgements ADD COLUMN stands BIGINT NOT NULL DEFAULT 1;

-- `waits` is why it is not admitted, as a JSON list; NULL: it is admitted. `revision` counts the changes.
ALTER TABLE nodes ADD COLUMN waits TEXT;
ALTER TABLE nodes ADD COLUMN statement TEXT;
ALTER TABLE nodes ADD COLUMN admitted TEXT;
ALTER TABLE nodes ADD COLUMN health TEXT;
ALTER TABLE nodes ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN doubted_since BIGINT;

CREATE TABLE node_events (
    id {id},
    node TEXT NOT NULL REFERENCES nodes (name),
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    by_whom TEXT
);
CREATE INDEX node_events_node ON node_events (node, id);

-- Contests and rejudging them come before what there was.
UPDATE jobs SET urgency = urgency + 2;
UPDATE jobs SET finished = (SELECT j.finished FROM judgements j WHERE j.job = jobs.id) WHERE state = 'judged';
UPDATE jobs SET started = created WHERE state = 'claimed';

-- The highest tag of a contest that was served in a line. An empty place is anywhere. Whoever claims holds the row of ('', 0).
CREATE TABLE lines (
    place TEXT NOT NULL,
    urgency BIGINT NOT NULL,
    served BIGINT NOT NULL,
    PRIMARY KEY (place, urgency)
);
INSERT INTO lines (place, urgency, served) VALUES ('', 0, 0);

-- Of a contest in a line: its tag while it has something to wait for, and the highest tickets of its authors that were served, of
-- jobs that begin a round and of those that go on with one.
CREATE TABLE contest_turns (
    place TEXT NOT NULL,
    urgency BIGINT NOT NULL,
    contest BIGINT NOT NULL,
    tag BIGINT,
    served BIGINT NOT NULL,
    served_again BIGINT NOT NULL,
    PRIMARY KEY (place, urgency, contest)
);
INSERT INTO contest_turns (place, urgency, contest, tag, served, served_again)
    SELECT '', urgency + 2, 0, NULL, served, 0 FROM turns;
DROP TABLE turns;

DROP INDEX jobs_next;
DROP INDEX jobs_waiting;
CREATE INDEX jobs_next ON jobs (COALESCE(place, ''), urgency, contest, fresh, ticket, id) WHERE state = 'queued';
CREATE INDEX jobs_waiting ON jobs (author, urgency, contest, COALESCE(place, ''), fresh, ticket) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (contest) WHERE state = 'claimed';
CREATE INDEX jobs_pool ON jobs (pool, started) WHERE state = 'claimed';
CREATE INDEX jobs_round ON jobs (round) WHERE round IS NOT NULL;
CREATE INDEX jobs_node ON jobs (node, finished) WHERE state = 'judged' AND node IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (finished, pool) WHERE state = 'judged';
CREATE INDEX jobs_cancelled ON jobs (submission) WHERE cancelled IS NOT NULL;
