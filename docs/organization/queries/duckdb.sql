-- Views and queries for DuckDB 1.5 or later. Set the location of the tables before you run this file:
--   SET VARIABLE lake = 's3://BUCKET/PREFIX';

-- All objects of a table. The types of the partitions are fixed, because DuckDB would take a host named 42 for a number.
CREATE OR REPLACE MACRO objects_of(name) AS TABLE
SELECT *
FROM read_parquet(
  getvariable('lake') || '/' || name || '/org=*/date=*/host=*/*.parquet',
  hive_partitioning = true,
  hive_types = {'org': VARCHAR, 'date': DATE, 'host': VARCHAR},
  union_by_name = true
);

-- The latest revision of each run.
CREATE OR REPLACE VIEW runs AS
SELECT * FROM objects_of('runs')
QUALIFY revision = max(revision) OVER (PARTITION BY org, date, host, run);

-- The rows of the other tables that belong to these revisions.
CREATE OR REPLACE VIEW agents AS
SELECT part.* FROM objects_of('agents') AS part SEMI JOIN runs USING (org, date, host, run, revision);

CREATE OR REPLACE VIEW tasks AS
SELECT part.* FROM objects_of('tasks') AS part SEMI JOIN runs USING (org, date, host, run, revision);

CREATE OR REPLACE VIEW messages AS
SELECT part.* FROM objects_of('messages') AS part SEMI JOIN runs USING (org, date, host, run, revision);

CREATE OR REPLACE VIEW verdicts AS
SELECT part.* FROM objects_of('verdicts') AS part SEMI JOIN runs USING (org, date, host, run, revision);

CREATE OR REPLACE VIEW incidents AS
SELECT part.* FROM objects_of('incidents') AS part SEMI JOIN runs USING (org, date, host, run, revision);

CREATE OR REPLACE VIEW usage AS
SELECT part.* FROM objects_of('usage') AS part SEMI JOIN runs USING (org, date, host, run, revision);

CREATE OR REPLACE VIEW tools AS
SELECT part.* FROM objects_of('tools') AS part SEMI JOIN runs USING (org, date, host, run, revision);

-- This table has no revisions.
CREATE OR REPLACE VIEW events AS SELECT * FROM objects_of('events');

-- The heads of the logs: `head` is `log`, `lines` and `hash`.
CREATE OR REPLACE VIEW heads AS
SELECT org, date, host, time, head, split_part(head, ':', 1) AS log, split_part(head, ':', 2)::BIGINT AS lines,
  split_part(head, ':', 3) AS hash
FROM events
WHERE head IS NOT NULL;

-- Query: cost-per-team-and-week
SELECT org, date_trunc('week', date)::DATE AS week, coalesce(team, '(no team)') AS team_name, count(*) AS runs,
  round(sum(cost_usd), 4) AS cost, count(*) FILTER (cost_usd IS NULL) AS runs_without_cost
FROM runs
GROUP BY ALL
ORDER BY week DESC, cost DESC NULLS LAST, team_name;

-- Query: cost-per-user-and-project
SELECT org, user_name, project, count(*) AS runs, round(sum(cost_usd), 4) AS cost,
  count(*) FILTER (cost_usd IS NULL) AS runs_without_cost, sum(output_tokens) AS output,
  round(sum(worked_ms) / 3600000, 2) AS agent_hours
FROM runs
GROUP BY ALL
ORDER BY cost DESC NULLS LAST, user_name, project;

-- Query: cost-per-model
SELECT org, array_to_string(models, ', ') AS model, count(*) AS agents, sum(input_tokens) AS input,
  sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read, round(sum(cost_usd), 4) AS cost,
  count(*) FILTER (cost_usd IS NULL) AS agents_without_cost
FROM usage
GROUP BY ALL
ORDER BY cost DESC NULLS LAST, model;

-- Query: blocks-per-gate-and-week
SELECT org, date_trunc('week', date)::DATE AS week, gate, count(*) AS blocked, count(DISTINCT run) AS runs
FROM verdicts
WHERE decision = 'block'
GROUP BY ALL
ORDER BY week DESC, blocked DESC, gate;

-- Query: blocked-shutdowns
SELECT v.org, v.date, v.host, r.project, v.team, v.run, v.time, v.agent
FROM verdicts AS v
JOIN runs AS r USING (org, date, host, run)
WHERE v.decision = 'block' AND v.gate = 'premature-shutdown'
ORDER BY v.time;

-- Query: stalls-per-week
SELECT org, date_trunc('week', date)::DATE AS week, count(*) AS stalls, count(DISTINCT run) AS runs,
  round(sum(seconds) / 3600, 2) AS hours
FROM incidents
WHERE kind = 'stalled-agent'
GROUP BY ALL
ORDER BY week DESC;

-- Query: lost-work
SELECT i.org, i.date, i.host, r.project, i.team, i.run, i.kind, i.time, array_to_string(i.agents, ', ') AS agent_names,
  i.tasks_lost, i.tokens, i.cost_usd AS cost
FROM incidents AS i
JOIN runs AS r USING (org, date, host, run)
WHERE i.kind IN ('lost-work', 'tasks-deleted', 'unfinished-work', 'crashed-lead', 'crashed-agent')
ORDER BY i.tasks_lost DESC, i.time;

-- Query: unfinished-tasks
SELECT t.org, t.date, t.host, r.project, t.team, t.run, t.task, t.status, t.owner, t.changed_at
FROM tasks AS t
JOIN runs AS r USING (org, date, host, run)
WHERE t.status NOT IN ('completed', 'deleted')
ORDER BY t.changed_at, t.task;

-- Query: failing-tools
SELECT org, tool, sum(calls) AS all_calls, sum(failed) AS failed_calls, round(100 * sum(failed) / sum(calls), 1) AS percent
FROM tools
WHERE failed IS NOT NULL
GROUP BY ALL
HAVING sum(failed) > 0
ORDER BY failed_calls DESC, tool;

-- Query: undelivered-messages
SELECT org, date, host, team, run, number, time, sender, recipient, kind, refused, blocked
FROM messages
WHERE NOT automatic AND (delivered = false OR refused)
ORDER BY time, number;

-- Query: incidents-per-kind
SELECT org, kind, severity, count(*) AS found, count(DISTINCT run) AS runs, round(sum(cost_usd), 4) AS cost
FROM incidents
GROUP BY ALL
ORDER BY found DESC, kind, severity;

-- Query: silent-hosts
SELECT org, host, max(time) AS newest
FROM events
GROUP BY ALL
HAVING max(time) < now() - INTERVAL 7 DAY
ORDER BY newest;

-- Query: newest-heads
SELECT org, host, log, max(time) AS newest, arg_max(head, time) AS newest_head
FROM heads
GROUP BY ALL
ORDER BY org, host, log;

-- Query: heads-to-check
SELECT org, host, time, head
FROM heads
WHERE date >= current_date - 30
ORDER BY org, host, log, lines, time;

-- Query: altered-logs
SELECT org, host, log, time, lines, hash, lines_before, hash_before
FROM (
  SELECT *, lag(lines) OVER shipments AS lines_before, lag(hash) OVER shipments AS hash_before
  FROM heads
  WINDOW shipments AS (PARTITION BY org, host, log ORDER BY time, lines)
)
WHERE lines < lines_before OR (lines = lines_before AND hash <> hash_before)
ORDER BY org, host, log, time;
