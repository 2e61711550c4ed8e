-- What limits of CPU time are in reference time, of a version in a pool; an empty pool: for what is of no contest. As in `time_limits`.
CREATE TABLE reference_scales (
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
CREATE INDEX reference_scales_submission ON reference_scales (submission) WHERE submission IS NOT NULL;
