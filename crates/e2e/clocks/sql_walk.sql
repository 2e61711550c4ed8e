-- Recursive queries: a generated table of events, running totals, a graph reached step by step.
WITH RECURSIVE
  seed(i, s) AS (
    SELECT 1, 12345
    UNION ALL
    SELECT i + 1, (s * 1103515245 + 12345) & 2147483647 FROM seed WHERE i < 80000
  ),
  event(i, who, amount) AS MATERIALIZED (
    SELECT i, (s >> 8) % 900, (s >> 14) % 2001 - 1000 FROM seed
  ),
  running(i, who, total) AS MATERIALIZED (
    SELECT i, who, sum(amount) OVER (PARTITION BY who ORDER BY i) FROM event
  ),
  summary(who, number, top, low) AS (
    SELECT who, count(*), max(total), min(total) FROM running GROUP BY who
  ),
  reached(v) AS (
    SELECT 1
    UNION
    SELECT CASE k WHEN 0 THEN v * 2 WHEN 1 THEN v * 3 + 1 ELSE v / 2 + 7 END % 30011
    FROM reached, (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2)
  )
SELECT (SELECT count(*) || ' ' || sum(number * (top - low) % 1009) || ' ' || max(top) FROM summary)
  || ' ' || (SELECT count(*) || ' ' || sum(v * v % 1009) FROM reached);
