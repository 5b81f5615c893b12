-- Views and queries for Trino with the Hive connector. The tables are in trino-tables.sql. The catalog is `hive`, the schema
-- `teamkeep`.

-- The latest revision of each run.
CREATE OR REPLACE VIEW hive.teamkeep.runs AS
SELECT part.*
FROM hive.teamkeep.all_runs AS part
JOIN (
  SELECT org, "date", host, run, max(revision) AS revision FROM hive.teamkeep.all_runs GROUP BY 1, 2, 3, 4
) AS newest
ON part.org = newest.org AND part."date" = newest."date" AND part.host = newest.host AND part.run = newest.run
  AND part.revision = newest.revision;

-- The rows of the other tables that belong to these revisions.
CREATE OR REPLACE VIEW hive.teamkeep.agents AS
SELECT part.*
FROM hive.teamkeep.all_agents AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

CREATE OR REPLACE VIEW hive.teamkeep.tasks AS
SELECT part.*
FROM hive.teamkeep.all_tasks AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

CREATE OR REPLACE VIEW hive.teamkeep.messages AS
SELECT part.*
FROM hive.teamkeep.all_messages AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

CREATE OR REPLACE VIEW hive.teamkeep.verdicts AS
SELECT part.*
FROM hive.teamkeep.all_verdicts AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

CREATE OR REPLACE VIEW hive.teamkeep.incidents AS
SELECT part.*
FROM hive.teamkeep.all_incidents AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

CREATE OR REPLACE VIEW hive.teamkeep.usage AS
SELECT part.*
FROM hive.teamkeep.all_usage AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

CREATE OR REPLACE VIEW hive.teamkeep.tools AS
SELECT part.*
FROM hive.teamkeep.all_tools AS part
JOIN hive.teamkeep.runs AS r ON part.org = r.org AND part."date" = r."date" AND part.host = r.host AND part.run = r.run
  AND part.revision = r.revision;

-- The heads of the logs: `head` is `log`, `lines` and `hash`.
CREATE OR REPLACE VIEW hive.teamkeep.heads AS
SELECT org, "date", host, time, head, split_part(head, ':', 1) AS log, CAST(split_part(head, ':', 2) AS bigint) AS lines,
  split_part(head, ':', 3) AS hash
FROM hive.teamkeep.events
WHERE head IS NOT NULL;

-- Query: cost-per-team-and-week
SELECT org, CAST(date_trunc('week', "date") AS date) AS week, coalesce(team, '(no team)') AS team_name, count(*) AS runs,
  round(sum(cost_usd), 4) AS cost, count(*) FILTER (WHERE cost_usd IS NULL) AS runs_without_cost
FROM hive.teamkeep.runs
GROUP BY 1, 2, 3
ORDER BY week DESC, cost DESC NULLS LAST, team_name;

-- Query: cost-per-user-and-project
SELECT org, user_name, project, count(*) AS runs, round(sum(cost_usd), 4) AS cost,
  count(*) FILTER (WHERE cost_usd IS NULL) AS runs_without_cost, sum(output_tokens) AS output,
  round(sum(worked_ms) / 3600000e0, 2) AS agent_hours
FROM hive.teamkeep.runs
GROUP BY 1, 2, 3
ORDER BY cost DESC NULLS LAST, user_name, project;

-- Query: cost-per-model
SELECT org, array_join(models, ', ') AS model, count(*) AS agents, sum(input_tokens) AS input,
  sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read, round(sum(cost_usd), 4) AS cost,
  count(*) FILTER (WHERE cost_usd IS NULL) AS agents_without_cost
FROM hive.teamkeep.usage
GROUP BY 1, 2
ORDER BY cost DESC NULLS LAST, model;

-- Query: blocks-per-gate-and-week
SELECT org, CAST(date_trunc('week', "date") AS date) AS week, gate, count(*) AS blocked, count(DISTINCT run) AS runs
FROM hive.teamkeep.verdicts
WHERE decision = 'block'
GROUP BY 1, 2, 3
ORDER BY week DESC, blocked DESC, gate;

-- Query: blocked-shutdowns
SELECT v.org, v."date", v.host, r.project, v.team, v.run, v.time, v.agent
FROM hive.teamkeep.verdicts AS v
JOIN hive.teamkeep.runs AS r ON v.org = r.org AND v."date" = r."date" AND v.host = r.host AND v.run = r.run
WHERE v.decision = 'block' AND v.gate = 'premature-shutdown'
ORDER BY v.time;

-- Query: stalls-per-week
SELECT org, CAST(date_trunc('week', "date") AS date) AS week, count(*) AS stalls, count(DISTINCT run) AS runs,
  round(sum(seconds) / 3600e0, 2) AS hours
FROM hive.teamkeep.incidents
WHERE kind = 'stalled-agent'
GROUP BY 1, 2
ORDER BY week DESC;

-- Query: lost-work
SELECT i.org, i."date", i.host, r.project, i.team, i.run, i.kind, i.time, array_join(i.agents, ', ') AS agent_names,
  i.tasks_lost, i.tokens, i.cost_usd AS cost
FROM hive.teamkeep.incidents AS i
JOIN hive.teamkeep.runs AS r ON i.org = r.org AND i."date" = r."date" AND i.host = r.host AND i.run = r.run
WHERE i.kind IN ('lost-work', 'tasks-deleted', 'unfinished-work', 'crashed-lead', 'crashed-agent')
ORDER BY i.tasks_lost DESC, i.time;

-- Query: unfinished-tasks
SELECT t.org, t."date", t.host, r.project, t.team, t.run, t.task, t.status, t.owner, t.changed_at
FROM hive.teamkeep.tasks AS t
JOIN hive.teamkeep.runs AS r ON t.org = r.org AND t."date" = r."date" AND t.host = r.host AND t.run = r.run
WHERE t.status NOT IN ('completed', 'deleted')
ORDER BY t.changed_at, t.task;

-- Query: failing-tools
SELECT org, tool, sum(calls) AS all_calls, sum(failed) AS failed_calls, round(1e2 * sum(failed) / sum(calls), 1) AS percent
FROM hive.teamkeep.tools
WHERE failed IS NOT NULL
GROUP BY 1, 2
HAVING sum(failed) > 0
ORDER BY failed_calls DESC, tool;

-- Query: undelivered-messages
SELECT org, "date", host, team, run, number, time, sender, recipient, kind, refused, blocked
FROM hive.teamkeep.messages
WHERE NOT automatic AND (delivered = false OR refused)
ORDER BY time, number;

-- Query: incidents-per-kind
SELECT org, kind, severity, count(*) AS found, count(DISTINCT run) AS runs, round(sum(cost_usd), 4) AS cost
FROM hive.teamkeep.incidents
GROUP BY 1, 2, 3
ORDER BY found DESC, kind, severity;

-- Query: silent-hosts
SELECT org, host, max(time) AS newest
FROM hive.teamkeep.events
GROUP BY 1, 2
HAVING max(time) < current_timestamp - INTERVAL '7' DAY
ORDER BY newest;

-- Query: newest-heads
SELECT org, host, log, max(time) AS newest, max_by(head, time) AS newest_head
FROM hive.teamkeep.heads
GROUP BY 1, 2, 3
ORDER BY org, host, log;

-- Query: heads-to-check
SELECT org, host, time, head
FROM hive.teamkeep.heads
WHERE "date" >= current_date - INTERVAL '30' DAY
ORDER BY org, host, log, lines, time;

-- Query: altered-logs
SELECT org, host, log, time, lines, hash, lines_before, hash_before
FROM (
  SELECT *, lag(lines) OVER (PARTITION BY org, host, log ORDER BY time, lines) AS lines_before,
    lag(hash) OVER (PARTITION BY org, host, log ORDER BY time, lines) AS hash_before
  FROM hive.teamkeep.heads
)
WHERE lines < lines_before OR (lines = lines_before AND hash <> hash_before)
ORDER BY org, host, log, time;
