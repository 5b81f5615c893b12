-- Views and queries for ClickHouse 25 or later. They read the named collection `teamkeep`, which has the location and the
-- credentials: see "ClickHouse" in queries.md. Run the views again after an upgrade of teamkeep, which can add columns.

CREATE DATABASE IF NOT EXISTS teamkeep;

-- The latest revision of each run.
CREATE OR REPLACE VIEW teamkeep.runs AS
SELECT * FROM s3(teamkeep, filename = 'runs/org=*/date=*/host=*/*.parquet')
ORDER BY revision DESC
LIMIT 1 BY org, date, host, run
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

-- The rows of the other tables that belong to these revisions.
CREATE OR REPLACE VIEW teamkeep.agents AS
SELECT * FROM s3(teamkeep, filename = 'agents/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

CREATE OR REPLACE VIEW teamkeep.tasks AS
SELECT * FROM s3(teamkeep, filename = 'tasks/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

CREATE OR REPLACE VIEW teamkeep.messages AS
SELECT * FROM s3(teamkeep, filename = 'messages/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

CREATE OR REPLACE VIEW teamkeep.verdicts AS
SELECT * FROM s3(teamkeep, filename = 'verdicts/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

CREATE OR REPLACE VIEW teamkeep.incidents AS
SELECT * FROM s3(teamkeep, filename = 'incidents/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

CREATE OR REPLACE VIEW teamkeep.usage AS
SELECT * FROM s3(teamkeep, filename = 'usage/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

CREATE OR REPLACE VIEW teamkeep.tools AS
SELECT * FROM s3(teamkeep, filename = 'tools/org=*/date=*/host=*/*.parquet')
WHERE (org, date, host, run, revision) IN (SELECT org, date, host, run, revision FROM teamkeep.runs)
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

-- This table has no revisions.
CREATE OR REPLACE VIEW teamkeep.events AS
SELECT * FROM s3(teamkeep, filename = 'events/org=*/date=*/host=*/*.parquet')
SETTINGS use_hive_partitioning = 1, schema_inference_mode = 'union';

-- The heads of the logs: `head` is `log`, `lines` and `hash`.
CREATE OR REPLACE VIEW teamkeep.heads AS
SELECT org, date, host, time, assumeNotNull(events.head) AS head, splitByChar(':', head)[1] AS log,
  toInt64(splitByChar(':', head)[2]) AS lines, splitByChar(':', head)[3] AS hash
FROM teamkeep.events AS events
WHERE events.head IS NOT NULL;

-- Query: cost-per-team-and-week
SELECT org, toMonday(date) AS week, ifNull(team, '(no team)') AS team_name, count() AS runs,
  round(sum(cost_usd), 4) AS cost, countIf(cost_usd IS NULL) AS runs_without_cost
FROM teamkeep.runs
GROUP BY org, week, team_name
ORDER BY week DESC, cost DESC NULLS LAST, team_name;

-- Query: cost-per-user-and-project
SELECT org, user_name, project, count() AS runs, round(sum(cost_usd), 4) AS cost,
  countIf(cost_usd IS NULL) AS runs_without_cost, sum(output_tokens) AS output,
  round(sum(worked_ms) / 3600000, 2) AS agent_hours
FROM teamkeep.runs
GROUP BY org, user_name, project
ORDER BY cost DESC NULLS LAST, user_name, project;

-- Query: cost-per-model
SELECT org, arrayStringConcat(models, ', ') AS model, count() AS agents, sum(input_tokens) AS input,
  sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read, round(sum(cost_usd), 4) AS cost,
  countIf(cost_usd IS NULL) AS agents_without_cost
FROM teamkeep.usage
GROUP BY org, model
ORDER BY cost DESC NULLS LAST, model;

-- Query: blocks-per-gate-and-week
SELECT org, toMonday(date) AS week, gate, count() AS blocked, uniqExact(run) AS runs
FROM teamkeep.verdicts
WHERE decision = 'block'
GROUP BY org, week, gate
ORDER BY week DESC, blocked DESC, gate;

-- Query: blocked-shutdowns
SELECT v.org AS org, v.date AS date, v.host AS host, r.project AS project, v.team AS team, v.run AS run, v.time AS time,
  v.agent AS agent
FROM teamkeep.verdicts AS v
JOIN teamkeep.runs AS r ON v.org = r.org AND v.date = r.date AND v.host = r.host AND v.run = r.run
WHERE v.decision = 'block' AND v.gate = 'premature-shutdown'
ORDER BY v.time;

-- Query: stalls-per-week
SELECT org, toMonday(date) AS week, count() AS stalls, uniqExact(run) AS runs, round(sum(seconds) / 3600, 2) AS hours
FROM teamkeep.incidents
WHERE kind = 'stalled-agent'
GROUP BY org, week
ORDER BY week DESC;

-- Query: lost-work
SELECT i.org AS org, i.date AS date, i.host AS host, r.project AS project, i.team AS team, i.run AS run, i.kind AS kind,
  i.time AS time, arrayStringConcat(i.agents, ', ') AS agent_names, i.tasks_lost AS tasks_lost, i.tokens AS tokens,
  i.cost_usd AS cost
FROM teamkeep.incidents AS i
JOIN teamkeep.runs AS r ON i.org = r.org AND i.date = r.date AND i.host = r.host AND i.run = r.run
WHERE i.kind IN ('lost-work', 'tasks-deleted', 'unfinished-work', 'crashed-lead', 'crashed-agent')
ORDER BY tasks_lost DESC, time;

-- Query: unfinished-tasks
SELECT t.org AS org, t.date AS date, t.host AS host, r.project AS project, t.team AS team, t.run AS run, t.task AS task,
  t.status AS status, t.owner AS owner, t.changed_at AS changed_at
FROM teamkeep.tasks AS t
JOIN teamkeep.runs AS r ON t.org = r.org AND t.date = r.date AND t.host = r.host AND t.run = r.run
WHERE t.status NOT IN ('completed', 'deleted')
ORDER BY changed_at, task;

-- Query: failing-tools
SELECT org, tool, sum(calls) AS all_calls, sum(failed) AS failed_calls, round(100 * failed_calls / all_calls, 1) AS percent
FROM teamkeep.tools
WHERE failed IS NOT NULL
GROUP BY org, tool
HAVING failed_calls > 0
ORDER BY failed_calls DESC, tool;

-- Query: undelivered-messages
SELECT org, date, host, team, run, number, time, sender, recipient, kind, refused, blocked
FROM teamkeep.messages
WHERE NOT automatic AND (delivered = false OR refused)
ORDER BY time, number;

-- Query: incidents-per-kind
SELECT org, kind, severity, count() AS found, uniqExact(run) AS runs, round(sum(cost_usd), 4) AS cost
FROM teamkeep.incidents
GROUP BY org, kind, severity
ORDER BY found DESC, kind, severity;

-- Query: silent-hosts
SELECT org, host, max(time) AS newest
FROM teamkeep.events
GROUP BY org, host
HAVING newest < now() - INTERVAL 7 DAY
ORDER BY newest;

-- Query: newest-heads
SELECT org, host, log, max(time) AS newest, argMax(head, time) AS newest_head
FROM teamkeep.heads
GROUP BY org, host, log
ORDER BY org, host, log;

-- Query: heads-to-check
SELECT org, host, time, head
FROM teamkeep.heads
WHERE date >= today() - 30
ORDER BY org, host, log, lines, time;

-- Query: altered-logs
SELECT org, host, log, time, lines, hash, lines_before, hash_before
FROM (
  SELECT *, lagInFrame(lines) OVER shipments AS lines_before, lagInFrame(hash) OVER shipments AS hash_before
  FROM teamkeep.heads
  WINDOW shipments AS (
    PARTITION BY org, host, log ORDER BY time, lines ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
)
WHERE lines < lines_before OR (lines = lines_before AND hash <> hash_before)
ORDER BY org, host, log, time;
