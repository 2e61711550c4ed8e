-- `author` is never null. The term keeps the queue's own reads, which name no author, off this index: PostgreSQL read all of it, and sorted
-- that, where its statistics were of a time at which no job waited.
DROP INDEX jobs_waiting;
CREATE INDEX jobs_waiting ON jobs (author, urgency, contest, COALESCE(place, ''), fresh, ticket) WHERE state = 'queued' AND author IS NOT NULL;
