-- Views and queries for DuckDB 1.5 or later, on the tables that compact.sh writes. Set their location before you run this file:
--   SET VARIABLE lake = 's3://BUCKET/PREFIX';

SET TimeZone = 'UTC';

-- All files of a table.
CREATE OR REPLACE MACRO rows_of(name) AS TABLE
SELECT * FROM read_parquet(getvariable('lake') || '/tables/' || name || '/*.parquet', union_by_name = true);

-- Of the rows of a run, those of one shipment count.
CREATE OR REPLACE VIEW runs AS
SELECT *
FROM rows_of('runs')
SEMI JOIN (
  SELECT org, store, run, arg_max(shipped_at, (revision, shipped_at)) AS shipped_at FROM rows_of('runs') GROUP BY ALL
) USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW agents AS
SELECT * FROM rows_of('agents') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW turns AS
SELECT * FROM rows_of('turns') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW tasks AS
SELECT * FROM rows_of('tasks') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW messages AS
SELECT * FROM rows_of('messages') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW verdicts AS
SELECT * FROM rows_of('verdicts') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW incidents AS
SELECT * FROM rows_of('incidents') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW usage AS
SELECT * FROM rows_of('usage') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW tools AS
SELECT * FROM rows_of('tools') SEMI JOIN runs USING (org, store, run, shipped_at);

CREATE OR REPLACE VIEW events AS SELECT * FROM rows_of('events');

CREATE OR REPLACE VIEW hosts AS SELECT * FROM rows_of('hosts');

-- The last state of each store.
CREATE OR REPLACE VIEW newest_hosts AS
SELECT * FROM hosts QUALIFY row_number() OVER (PARTITION BY org, store ORDER BY shipped_at DESC, unreadable_bytes DESC) = 1;

-- The heads of the logs: `head` is `log`, `lines` and `hash`.
CREATE OR REPLACE VIEW heads AS
SELECT *, split_part(head, ':', 1) AS log, TRY_CAST(split_part(head, ':', 2) AS BIGINT) AS lines, split_part(head, ':', 3) AS hash
FROM (SELECT org, host, store, user_name, shipped_at, unnest(heads) AS head FROM hosts);

-- Query: cost-per-team-and-week
SELECT org, date_trunc('week', day)::DATE AS week, coalesce(team, '(no team)') AS team_name, count(*) AS runs,
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
SELECT org, date_trunc('week', day)::DATE AS week, gate, count(*) AS blocked, count(DISTINCT (store, run)) AS runs
FROM verdicts
WHERE decision = 'block'
GROUP BY ALL
ORDER BY week DESC, blocked DESC, gate;

-- Query: blocked-shutdowns
SELECT v.org, v.day, v.host, r.project, v.team, v.run, v.time, v.agent
FROM verdicts AS v
JOIN runs AS r USING (org, store, run)
WHERE v.decision = 'block' AND v.gate = 'premature-shutdown'
ORDER BY v.time;

-- Query: stalls-per-week
SELECT org, date_trunc('week', day)::DATE AS week, count(*) AS stalls, count(DISTINCT (store, run)) AS runs,
  round(sum(seconds) / 3600, 2) AS hours
FROM incidents
WHERE kind = 'stalled-agent'
GROUP BY ALL
ORDER BY week DESC;

-- Query: lost-work
SELECT i.org, i.day, i.host, r.project, i.team, i.run, i.kind, i.time, array_to_string(i.agents, ', ') AS agent_names,
  i.tasks_lost, i.tokens, i.cost_usd AS cost
FROM incidents AS i
JOIN runs AS r USING (org, store, run)
WHERE i.tasks_lost > 0 OR i.kind IN ('lost-work', 'tasks-deleted', 'unfinished-work', 'crashed-lead', 'crashed-agent')
ORDER BY i.tasks_lost DESC, i.time;

-- Query: unfinished-tasks
SELECT t.org, t.day, t.host, r.project, t.team, t.run, t.task, t.status, t.owner, t.changed_at
FROM tasks AS t
JOIN runs AS r USING (org, store, run)
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
SELECT org, day, host, team, run, number, time, sender, recipient, kind, refused, blocked
FROM messages
WHERE NOT automatic AND (delivered = false OR refused)
ORDER BY time, number;

-- Query: incidents-per-kind
SELECT org, kind, severity, count(*) AS found, count(DISTINCT (store, run)) AS runs, round(sum(cost_usd), 4) AS cost
FROM incidents
GROUP BY ALL
ORDER BY found DESC, kind, severity;

-- Query: silent-hosts
SELECT org, host, store, user_name, shipped_at AS newest
FROM newest_hosts
WHERE shipped_at < now() - INTERVAL 7 DAY
ORDER BY newest, host, store;

-- Query: broken-hosts
-- A hook is missing if more than half of the organization's stores have it.
WITH stores AS (
  SELECT org, count(*) AS stores FROM newest_hosts GROUP BY org
),
usual AS (
  SELECT org, list(hook ORDER BY hook) AS usual_hooks
  FROM (
    SELECT org, hook, count(*) AS having_it
    FROM (SELECT org, unnest(hooks) AS hook FROM newest_hosts)
    GROUP BY org, hook
  )
  JOIN stores USING (org)
  WHERE 2 * having_it > stores
  GROUP BY org
)
SELECT org, host, store, user_name, shipped_at AS newest, last_error,
  if(len(hooks) = 0, 'all', coalesce(array_to_string(list_filter(usual_hooks, lambda hook: NOT list_contains(hooks, hook)), ', '), ''))
    AS missing_hooks,
  lost_bytes, unreadable_bytes, (shipped_at > now() + INTERVAL 1 HOUR)::INT AS is_clock_ahead
FROM newest_hosts
LEFT JOIN usual USING (org)
WHERE last_error IS NOT NULL OR missing_hooks <> '' OR lost_bytes > 0 OR unreadable_bytes > 0 OR is_clock_ahead = 1
ORDER BY host, store;

-- Query: outdated-hosts
-- The usual value is the one that most stores of the organization have. To require a policy, compare it with its hash.
WITH counted AS (
  SELECT org, host, store, user_name, coalesce(teamkeep_version, '') AS version, coalesce(shipper_version, '') AS shipper,
    coalesce(policy, '') AS policy_hash,
    count(*) OVER (PARTITION BY org, version) AS same_version,
    count(*) OVER (PARTITION BY org, shipper) AS same_shipper,
    count(*) OVER (PARTITION BY org, policy_hash) AS same_policy
  FROM newest_hosts
),
usual AS (
  SELECT org, arg_max(version, (same_version, version)) AS usual_version,
    arg_max(shipper, (same_shipper, shipper)) AS usual_shipper, arg_max(policy_hash, (same_policy, policy_hash)) AS usual_policy
  FROM counted
  GROUP BY org
)
SELECT org, host, store, user_name, version, usual_version, shipper, usual_shipper, policy_hash, usual_policy
FROM counted
JOIN usual USING (org)
WHERE version <> usual_version OR shipper <> usual_shipper OR policy_hash <> usual_policy
ORDER BY host, store;

-- Query: newest-heads
SELECT org, host, store, log, max(shipped_at) AS newest, arg_max(head, (shipped_at, lines)) AS newest_head
FROM heads
GROUP BY ALL
ORDER BY org, host, store, log;

-- Query: heads-to-check
SELECT org, host, store, shipped_at, head
FROM heads
WHERE shipped_at >= now() - INTERVAL 30 DAY
ORDER BY org, host, store, log, lines, shipped_at;

-- Query: altered-logs
-- A log became shorter, or has two hashes for the same number of lines.
SELECT org, host, store, log, shipped_at, lines, hash, lines_before, hash_before
FROM (
  SELECT *, lag(lines) OVER (PARTITION BY org, store, log ORDER BY shipped_at, lines) AS lines_before,
    lag(hash) OVER (PARTITION BY org, store, log ORDER BY shipped_at, lines) AS hash_before,
    first_value(hash) OVER (PARTITION BY org, store, log, lines ORDER BY shipped_at) AS first_hash
  FROM heads
)
WHERE lines < lines_before OR hash <> first_hash
ORDER BY org, host, store, log, shipped_at;

-- Query: skipped-objects
SELECT day, org, host, object, problem
FROM rows_of('objects')
WHERE problem IS NOT NULL
ORDER BY object;
