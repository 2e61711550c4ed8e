-- Times are microseconds since 1970-01-01 UTC. `form` is the version of the JSON beside it.

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    size BIGINT NOT NULL
);

CREATE TABLE blob_pieces (
    hash TEXT NOT NULL REFERENCES blobs (hash) ON DELETE CASCADE,
    piece BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (hash, piece)
);

CREATE TABLE users (
    id {id},
    name TEXT NOT NULL UNIQUE,
    display TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('admin', 'jury', 'participant')),
    password TEXT,
    created BIGINT NOT NULL,
    disabled BIGINT
);

CREATE TABLE api_tokens (
    id {id},
    owner BIGINT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    used BIGINT,
    revoked BIGINT
);
CREATE INDEX api_tokens_owner ON api_tokens (owner);

CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    owner BIGINT NOT NULL REFERENCES users (id),
    details TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX sessions_owner ON sessions (owner);
CREATE INDEX sessions_expires ON sessions (expires);

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE problems (
    id {id},
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    created BIGINT NOT NULL
);

CREATE TABLE problem_versions (
    id {id},
    problem BIGINT NOT NULL REFERENCES problems (id),
    number BIGINT NOT NULL,
    package TEXT NOT NULL REFERENCES blobs (hash),
    author BIGINT REFERENCES users (id),
    created BIGINT NOT NULL,
    UNIQUE (problem, number)
);
CREATE INDEX problem_versions_package ON problem_versions (package);

-- `judgements` counts them, and locks the row while one is added. `forgotten` is when sources and runs were deleted.
CREATE TABLE submissions (
    id {id},
    token TEXT NOT NULL UNIQUE,
    version BIGINT REFERENCES problem_versions (id),
    author BIGINT REFERENCES users (id),
    language TEXT NOT NULL,
    details TEXT NOT NULL,
    created BIGINT NOT NULL,
    judgements BIGINT NOT NULL DEFAULT 0,
    forgotten BIGINT
);
CREATE INDEX submissions_version ON submissions (version, id);
CREATE INDEX submissions_author ON submissions (author, id);
CREATE INDEX submissions_language ON submissions (language, id);
CREATE INDEX submissions_created ON submissions (created, id);
CREATE INDEX submissions_kept ON submissions (created) WHERE forgotten IS NULL;

CREATE TABLE files (
    submission BIGINT NOT NULL REFERENCES submissions (id),
    name TEXT NOT NULL,
    position BIGINT NOT NULL,
    hash TEXT NOT NULL REFERENCES blobs (hash),
    PRIMARY KEY (submission, name)
);
CREATE INDEX files_hash ON files (hash);

-- `author` is 0 where nobody is known: who waits in one line with whom. `lease` is when the claim ends.
CREATE TABLE jobs (
    id {id},
    submission BIGINT NOT NULL REFERENCES submissions (id),
    version BIGINT REFERENCES problem_versions (id),
    author BIGINT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('verdict', 'trial')),
    urgency BIGINT NOT NULL,
    ticket BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'claimed', 'judged')),
    attempt BIGINT NOT NULL DEFAULT 0,
    worker TEXT,
    lease BIGINT,
    returned TEXT,
    created BIGINT NOT NULL,
    CHECK ((state = 'claimed') = (lease IS NOT NULL))
);
CREATE INDEX jobs_next ON jobs (urgency, ticket, id) WHERE state = 'queued';
CREATE INDEX jobs_waiting ON jobs (author, urgency, ticket) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (lease) WHERE state = 'claimed';
CREATE INDEX jobs_submission ON jobs (submission, purpose, id);

-- The highest ticket that was served, by urgency. Whoever claims holds the row of urgency 0.
CREATE TABLE turns (
    urgency BIGINT PRIMARY KEY,
    served BIGINT NOT NULL
);
INSERT INTO turns (urgency, served) VALUES (0, 0), (1, 0);

CREATE TABLE judgements (
    id {id},
    submission BIGINT NOT NULL REFERENCES submissions (id),
    number BIGINT NOT NULL,
    job BIGINT NOT NULL UNIQUE REFERENCES jobs (id),
    current BIGINT NOT NULL CHECK (current IN (0, 1)),
    finished BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    score DOUBLE PRECISION,
    cpu_ns BIGINT,
    memory_bytes BIGINT,
    confidence TEXT NOT NULL,
    runs BIGINT NOT NULL,
    void_runs BIGINT NOT NULL,
    form BIGINT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (submission, number)
);
CREATE UNIQUE INDEX judgements_current ON judgements (submission) WHERE current = 1;
CREATE INDEX judgements_verdict ON judgements (verdict, submission) WHERE current = 1;

CREATE TABLE test_results (
    judgement BIGINT NOT NULL REFERENCES judgements (id),
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    verdict TEXT NOT NULL,
    cpu_ns BIGINT NOT NULL,
    memory_bytes BIGINT,
    form BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (judgement, position)
);

-- The runs of all tests of a judgement: a compressed JSON list of lists of observations.
CREATE TABLE runs (
    judgement BIGINT PRIMARY KEY REFERENCES judgements (id),
    form BIGINT NOT NULL,
    bytes BYTEA NOT NULL
);
