-- Queries for ClickHouse, on the views of ../lake/clickhouse.sql.

-- Query: cost-per-team-and-week
SELECT org, toMonday(day) AS week, ifNull(team, '(no team)') AS team_name, count() AS runs,
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
SELECT org, toMonday(day) AS week, gate, count() AS blocked, uniqExact(store, run) AS runs
FROM teamkeep.verdicts
WHERE decision = 'block'
GROUP BY org, week, gate
ORDER BY week DESC, blocked DESC, gate;

-- Query: blocked-shutdowns
SELECT v.org AS org, v.day AS day, v.host AS host, r.project AS project, v.team AS team, v.run AS run, v.time AS time,
  v.agent AS agent
FROM teamkeep.verdicts AS v
JOIN teamkeep.runs AS r ON v.org = r.org AND v.store = r.store AND v.run = r.run
WHERE v.decision = 'block' AND v.gate = 'premature-shutdown'
ORDER BY v.time;

-- Query: stalls-per-week
SELECT org, toMonday(day) AS week, count() AS stalls, uniqExact(store, run) AS runs, round(sum(seconds) / 3600, 2) AS hours
FROM teamkeep.incidents
WHERE kind = 'stalled-agent'
GROUP BY org, week
ORDER BY week DESC;

-- Query: lost-work
SELECT i.org AS org, i.day AS day, i.host AS host, r.project AS project, i.team AS team, i.run AS run, i.kind AS kind,
  i.time AS time, arrayStringConcat(i.agents, ', ') AS agent_names, i.tasks_lost AS tasks_lost, i.tokens AS tokens,
  i.cost_usd AS cost
FROM teamkeep.incidents AS i
JOIN teamkeep.runs AS r ON i.org = r.org AND i.store = r.store AND i.run = r.run
WHERE i.tasks_lost > 0 OR i.kind IN ('lost-work', 'tasks-deleted', 'unfinished-work', 'crashed-lead', 'crashed-agent')
ORDER BY tasks_lost DESC, time;

-- Query: unfinished-tasks
SELECT t.org AS org, t.day AS day, t.host AS host, r.project AS project, t.team AS team, t.run AS run, t.task AS task,
  t.status AS status, t.owner AS owner, t.changed_at AS changed_at
FROM teamkeep.tasks AS t
JOIN teamkeep.runs AS r ON t.org = r.org AND t.store = r.store AND t.run = r.run
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
SELECT org, day, host, team, run, number, time, sender, recipient, kind, refused, blocked
FROM teamkeep.messages
WHERE NOT automatic AND (delivered = false OR refused)
ORDER BY time, number;

-- Query: incidents-per-kind
SELECT org, kind, severity, count() AS found, uniqExact(store, run) AS runs, round(sum(cost_usd), 4) AS cost
FROM teamkeep.incidents
GROUP BY org, kind, severity
ORDER BY found DESC, kind, severity;

-- Query: silent-hosts
SELECT org, host, store, user_name, shipped_at AS newest
FROM teamkeep.newest_hosts
WHERE shipped_at < now() - INTERVAL 7 DAY
ORDER BY newest, host, store;

-- Query: broken-hosts
-- A hook is missing if more than half of the organization's stores have it.
WITH usual AS (
  SELECT org, arraySort(groupArray(hook)) AS usual_hooks
  FROM (
    SELECT org, hook, count() AS having_it FROM teamkeep.newest_hosts ARRAY JOIN hooks AS hook GROUP BY org, hook
  ) AS hooks
  JOIN (SELECT org, count() AS stores FROM teamkeep.newest_hosts GROUP BY org) AS all_stores USING (org)
  WHERE 2 * having_it > stores
  GROUP BY org
)
SELECT org, host, store, user_name, shipped_at AS newest, last_error,
  if(empty(hooks), 'all', arrayStringConcat(arrayFilter(hook -> NOT has(hooks, hook), usual_hooks), ', ')) AS missing_hooks, lost_bytes,
  unreadable_bytes, shipped_at > now() + INTERVAL 1 HOUR AS is_clock_ahead
FROM teamkeep.newest_hosts AS newest_hosts
LEFT JOIN usual USING (org)
WHERE last_error IS NOT NULL OR missing_hooks != '' OR lost_bytes > 0 OR unreadable_bytes > 0 OR is_clock_ahead
ORDER BY host, store;

-- Query: outdated-hosts
-- The usual value is the one that most stores of the organization have. To require a policy, compare it with its hash.
WITH counted AS (
  SELECT org, host, store, user_name, ifNull(teamkeep_version, '') AS version, ifNull(shipper_version, '') AS shipper,
    ifNull(policy, '') AS policy_hash,
    count() OVER (PARTITION BY org, version) AS same_version,
    count() OVER (PARTITION BY org, shipper) AS same_shipper,
    count() OVER (PARTITION BY org, policy_hash) AS same_policy
  FROM teamkeep.newest_hosts
),
usual AS (
  SELECT org, argMax(version, (same_version, version)) AS usual_version,
    argMax(shipper, (same_shipper, shipper)) AS usual_shipper, argMax(policy_hash, (same_policy, policy_hash)) AS usual_policy
  FROM counted
  GROUP BY org
)
SELECT org, host, store, user_name, version, usual_version, shipper, usual_shipper, policy_hash, usual_policy
FROM counted
JOIN usual USING (org)
WHERE version != usual_version OR shipper != usual_shipper OR policy_hash != usual_policy
ORDER BY host, store;

-- Query: newest-heads
SELECT org, host, store, log, max(shipped_at) AS newest, argMax(head, (shipped_at, lines)) AS newest_head
FROM teamkeep.heads
GROUP BY org, host, store, log
ORDER BY org, host, store, log;

-- Query: heads-to-check
SELECT org, host, store, shipped_at, head
FROM teamkeep.heads
WHERE shipped_at >= now() - INTERVAL 30 DAY
ORDER BY org, host, store, log, lines, shipped_at;

-- Query: altered-logs
-- A log became shorter, or has two hashes for the same number of lines.
SELECT org, host, store, log, shipped_at, lines, hash, lines_before, hash_before
FROM (
  SELECT *, lagInFrame(toNullable(lines)) OVER shipments AS lines_before,
    lagInFrame(toNullable(hash)) OVER shipments AS hash_before,
    first_value(hash) OVER (PARTITION BY org, store, log, lines ORDER BY shipped_at) AS first_hash
  FROM teamkeep.heads
  WINDOW shipments AS (
    PARTITION BY org, store, log ORDER BY shipped_at, lines ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
)
WHERE lines < lines_before OR hash != first_hash
ORDER BY org, host, store, log, shipped_at;

-- Query: skipped-objects
-- Those that could not be read at all are in system.s3queue_log, with their exceptions.
SELECT toDate(extract(object, '/date=([^/]+)/')) AS day, extract(object, 'org=([^/]+)/') AS org,
  extract(object, '/host=([^/]+)/') AS host, object, problem
FROM teamkeep.skipped_rows
GROUP BY object, problem
ORDER BY object, problem;
