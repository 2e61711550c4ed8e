-- What `cpu_ns` is charged by: under `instructions` it is their number.
ALTER TABLE judgements ADD COLUMN clock TEXT NOT NULL DEFAULT 'cpu';
UPDATE judgements SET clock = 'instructions' WHERE body LIKE '%"clock":"instructions"%';
UPDATE judgements SET clock = 'reference' WHERE body LIKE '%"clock":"reference"%';
