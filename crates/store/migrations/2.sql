-- `origin` is where it came from. `visitor` is whose it is where nobody has signed in.
ALTER TABLE submissions ADD COLUMN origin TEXT NOT NULL DEFAULT 'participant';
ALTER TABLE submissions ADD COLUMN visitor TEXT;
CREATE INDEX submissions_origin ON submissions (origin, id);
CREATE INDEX submissions_visitor ON submissions (visitor, id) WHERE visitor IS NOT NULL;

-- A request to judge many submissions again.
CREATE TABLE rejudgings (
    id {id},
    reason TEXT NOT NULL,
    author BIGINT REFERENCES users (id),
    purpose TEXT NOT NULL CHECK (purpose IN ('verdict', 'trial')),
    version BIGINT REFERENCES problem_versions (id),
    created BIGINT NOT NULL
);

-- `before` is the judgement that was current when the rejudging was asked for.
CREATE TABLE rejudged (
    rejudging BIGINT NOT NULL REFERENCES rejudgings (id),
    submission BIGINT NOT NULL REFERENCES submissions (id),
    before BIGINT REFERENCES judgements (id),
    PRIMARY KEY (rejudging, submission)
);
CREATE INDEX rejudged_submission ON rejudged (submission);
CREATE INDEX rejudged_before ON rejudged (before) WHERE before IS NOT NULL;

-- `failed` counts the attempts of which nothing came through a fault of somebody's.
ALTER TABLE jobs ADD COLUMN failed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN rejudging BIGINT REFERENCES rejudgings (id);
CREATE INDEX jobs_rejudging ON jobs (rejudging, submission) WHERE rejudging IS NOT NULL;
CREATE INDEX jobs_open ON jobs (submission, state) WHERE purpose = 'verdict' AND state <> 'judged';

-- What the program and the compiler wrote, and what else the worker said: each compressed.
CREATE TABLE outputs (
    judgement BIGINT PRIMARY KEY REFERENCES judgements (id),
    form BIGINT NOT NULL,
    stdout BYTEA NOT NULL,
    stderr BYTEA NOT NULL,
    details BYTEA NOT NULL
);

CREATE TABLE nodes (
    name TEXT PRIMARY KEY,
    pool TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'draining', 'drained')),
    reason TEXT,
    facts TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL
);

CREATE TABLE node_samples (
    id {id},
    node TEXT NOT NULL REFERENCES nodes (name),
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL
);
CREATE INDEX node_samples_kind ON node_samples (node, kind, at, id);
CREATE INDEX node_samples_at ON node_samples (at);

-- `due` is when it is to be tried next.
CREATE TABLE callbacks (
    id {id},
    submission BIGINT NOT NULL REFERENCES submissions (id),
    url TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'due', 'done', 'failed')),
    attempts BIGINT NOT NULL DEFAULT 0,
    due BIGINT,
    last_error TEXT,
    CHECK ((state = 'due') = (due IS NOT NULL))
);
CREATE INDEX callbacks_submission ON callbacks (submission);
CREATE INDEX callbacks_due ON callbacks (due, id) WHERE state = 'due';
