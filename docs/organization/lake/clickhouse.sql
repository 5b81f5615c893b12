-- The tables of ClickHouse, and the materialized views that fill them. Needs ClickHouse 26.

CREATE DATABASE IF NOT EXISTS teamkeep;

-- Rows of all tables as they arrive, each with the path of its object. Nothing is stored here.
CREATE TABLE IF NOT EXISTS teamkeep.arriving (
  object String, `table` String,
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run Nullable(String), revision Int64, team Nullable(String), time Nullable(DateTime64(3, 'UTC')),
  ended_at Nullable(DateTime64(3, 'UTC')), duration_ms Nullable(Int64), ended_by Nullable(String),
  outcome Nullable(String), session Nullable(String), user_name Nullable(String), project Nullable(String),
  client_version Nullable(String), title Nullable(String), members Nullable(Int64), messages Nullable(Int64),
  automatic_messages Nullable(Int64), refused_messages Nullable(Int64), tasks Nullable(Int64), completed_tasks Nullable(Int64),
  turns Nullable(Int64), events Nullable(Int64), snapshots Nullable(Int64), worked_ms Nullable(Int64),
  input_tokens Nullable(Int64), output_tokens Nullable(Int64), cache_read_tokens Nullable(Int64),
  cache_write_tokens Nullable(Int64), cost_usd Nullable(Float64), prices_of Nullable(String), agent Nullable(String),
  kind Nullable(String), agent_ids Array(String), type Nullable(String), model Nullable(String),
  left_at Nullable(DateTime64(3, 'UTC')), working_ms Nullable(Int64), waiting_ms Nullable(Int64),
  idle_ms Nullable(Int64), agent_id Nullable(String), client_spans Array(String), task Nullable(String),
  status Nullable(String), owner Nullable(String), subject Nullable(String), blocked_by Array(String),
  changed_at Nullable(DateTime64(3, 'UTC')), removed_at Nullable(DateTime64(3, 'UTC')), changes Nullable(Int64),
  model_messages Nullable(Int64), number Nullable(Int64), sender Nullable(String), recipient Nullable(String),
  automatic Nullable(Bool), delivered Nullable(Bool), refused Nullable(Bool), blocked Nullable(Bool),
  chars Nullable(Int64), summary Nullable(String), text Nullable(String), decision Nullable(String),
  gate Nullable(String), event Nullable(String), blocks Nullable(Int64), paused Nullable(Bool),
  repeated Nullable(Bool), reason Nullable(String), incident Nullable(String), severity Nullable(String),
  agents Array(String), task_ids Array(String), seconds Nullable(Int64), tasks_lost Nullable(Int64), tokens Nullable(Int64),
  models Array(String), tool Nullable(String), calls Nullable(Int64), failed Nullable(Int64), id Nullable(String),
  agent_kind Nullable(String), tool_use_id Nullable(String), source Nullable(String), judged Nullable(String),
  traceparent Nullable(String), malformed Nullable(Bool), payload_bytes Nullable(Int64), payload Nullable(String),
  log Nullable(String), line Nullable(Int64), teamkeep_version Nullable(String), shipper_version Nullable(String),
  policy Nullable(String), hooks Array(String), privacy Nullable(String), unreadable_bytes Nullable(Int64),
  lost_bytes Nullable(Int64), last_error Nullable(String), heads Array(String), runs Nullable(Int64)
)
ENGINE = Null;

-- Why a row is left out; empty if it is not.
CREATE OR REPLACE FUNCTION teamkeepProblem AS (object, name, v, org, host, store, shipped_at, id, run, revision) -> multiIf(
  v != 1, 'v is ' || toString(v) || ', not 1',
  object != '' AND (extract(object, 'org=([^/]+)/date=') != org OR extract(object, '/host=([^/]+)/') != host),
  'rows of another organization or host',
  object != '' AND extract(object, '/date=([^/]+)/') != toString(toDate(shipped_at, 'UTC')), 'rows of another day',
  name = '' OR store = '', 'rows without table or store',
  name = 'events' AND ifNull(id, '') = '', 'events without id',
  name NOT IN ('events', 'hosts') AND (ifNull(run, '') = '' OR revision = 0), 'rows without run or revision',
  '');

-- Objects with rows that were left out.
CREATE TABLE IF NOT EXISTS teamkeep.skipped_rows (object String, problem String, rows UInt64, at DateTime)
ENGINE = MergeTree ORDER BY (object, problem) TTL at + INTERVAL 90 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.skipped_arriving TO teamkeep.skipped_rows AS
SELECT object, teamkeepProblem(object, `table`, v, org, host, store, shipped_at, id, run, revision) AS problem, count() AS rows,
  now() AS at
FROM teamkeep.arriving
WHERE problem != ''
GROUP BY object, problem;

CREATE TABLE IF NOT EXISTS teamkeep.runs_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), time Nullable(DateTime64(3, 'UTC')),
  ended_at Nullable(DateTime64(3, 'UTC')), duration_ms Nullable(Int64), ended_by Nullable(String),
  outcome Nullable(String), session Nullable(String), user_name Nullable(String), project Nullable(String),
  client_version Nullable(String), title Nullable(String), members Nullable(Int64), messages Nullable(Int64),
  automatic_messages Nullable(Int64), refused_messages Nullable(Int64), tasks Nullable(Int64),
  completed_tasks Nullable(Int64), turns Nullable(Int64), events Nullable(Int64), snapshots Nullable(Int64),
  worked_ms Nullable(Int64), input_tokens Nullable(Int64), output_tokens Nullable(Int64),
  cache_read_tokens Nullable(Int64), cache_write_tokens Nullable(Int64), cost_usd Nullable(Float64),
  prices_of Nullable(String), run_key UInt64 MATERIALIZED sipHash64(org, store, run),
  shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.runs_arriving TO teamkeep.runs_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, time, ended_at,
  duration_ms, ended_by, outcome, session, user_name, project, client_version, title, members, messages,
  automatic_messages, refused_messages, tasks,
  completed_tasks, turns, events, snapshots, worked_ms, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, cost_usd, prices_of
FROM teamkeep.arriving
WHERE `table` = 'runs' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.agents_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), agent Nullable(String), kind Nullable(String),
  agent_ids Array(String), type Nullable(String), model Nullable(String), time Nullable(DateTime64(3, 'UTC')),
  left_at Nullable(DateTime64(3, 'UTC')), turns Nullable(Int64), working_ms Nullable(Int64),
  waiting_ms Nullable(Int64), idle_ms Nullable(Int64),
  shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, agent)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.agents_arriving TO teamkeep.agents_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, agent, kind, agent_ids,
  type, model, time, left_at, turns, working_ms, waiting_ms, idle_ms
FROM teamkeep.arriving
WHERE `table` = 'agents' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.turns_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), agent Nullable(String), agent_id Nullable(String),
  time Nullable(DateTime64(3, 'UTC')), ended_at Nullable(DateTime64(3, 'UTC')), task_ids Array(String),
  client_spans Array(String), shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, agent, agent_id, time)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.turns_arriving TO teamkeep.turns_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, agent, agent_id, time,
  ended_at, task_ids, client_spans
FROM teamkeep.arriving
WHERE `table` = 'turns' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.tasks_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), task Nullable(String), status Nullable(String),
  owner Nullable(String), subject Nullable(String), blocked_by Array(String), time Nullable(DateTime64(3, 'UTC')),
  changed_at Nullable(DateTime64(3, 'UTC')), removed_at Nullable(DateTime64(3, 'UTC')), changes Nullable(Int64),
  model_messages Nullable(Int64), input_tokens Nullable(Int64), output_tokens Nullable(Int64),
  cache_read_tokens Nullable(Int64), cache_write_tokens Nullable(Int64), cost_usd Nullable(Float64),
  shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, task)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.tasks_arriving TO teamkeep.tasks_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, task, status, owner,
  subject, blocked_by, time, changed_at, removed_at, changes, model_messages, input_tokens, output_tokens,
  cache_read_tokens, cache_write_tokens, cost_usd
FROM teamkeep.arriving
WHERE `table` = 'tasks' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.messages_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), number Nullable(Int64),
  time Nullable(DateTime64(3, 'UTC')), sender Nullable(String), recipient Nullable(String), kind Nullable(String),
  automatic Nullable(Bool), delivered Nullable(Bool), refused Nullable(Bool), blocked Nullable(Bool),
  chars Nullable(Int64), summary Nullable(String), text Nullable(String),
  shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, number)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.messages_arriving TO teamkeep.messages_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, number, time, sender,
  recipient, kind, automatic, delivered, refused, blocked, chars, summary, text
FROM teamkeep.arriving
WHERE `table` = 'messages' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.verdicts_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), number Nullable(Int64),
  time Nullable(DateTime64(3, 'UTC')), agent Nullable(String), decision Nullable(String), gate Nullable(String),
  event Nullable(String), blocks Nullable(Int64), paused Nullable(Bool), repeated Nullable(Bool),
  reason Nullable(String), shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, number)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.verdicts_arriving TO teamkeep.verdicts_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, number, time, agent,
  decision, gate, event, blocks, paused, repeated, reason
FROM teamkeep.arriving
WHERE `table` = 'verdicts' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.incidents_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), incident Nullable(String), kind Nullable(String),
  severity Nullable(String), agents Array(String), task_ids Array(String), time Nullable(DateTime64(3, 'UTC')),
  ended_at Nullable(DateTime64(3, 'UTC')), seconds Nullable(Int64), tasks_lost Nullable(Int64),
  tokens Nullable(Int64), cost_usd Nullable(Float64), summary Nullable(String),
  shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, incident)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.incidents_arriving TO teamkeep.incidents_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, incident, kind, severity,
  agents, task_ids, time, ended_at, seconds, tasks_lost, tokens,
  cost_usd, summary
FROM teamkeep.arriving
WHERE `table` = 'incidents' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.usage_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), agent Nullable(String), models Array(String),
  model_messages Nullable(Int64), input_tokens Nullable(Int64), output_tokens Nullable(Int64),
  cache_read_tokens Nullable(Int64), cache_write_tokens Nullable(Int64), cost_usd Nullable(Float64),
  shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, agent)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.usage_arriving TO teamkeep.usage_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, agent, models,
  model_messages, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd
FROM teamkeep.arriving
WHERE `table` = 'usage' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.tools_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, run String, revision Int64, team Nullable(String), agent Nullable(String), tool Nullable(String),
  calls Nullable(Int64), failed Nullable(Int64), shipment UInt64 MATERIALIZED sipHash64(org, store, run, shipped_at)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, run, shipped_at, agent, tool)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.tools_arriving TO teamkeep.tools_rows AS
SELECT
  v, org, host, store, shipped_at, day, assumeNotNull(arriving.run) AS run, revision, team, agent, tool, calls, failed
FROM teamkeep.arriving
WHERE `table` = 'tools' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

CREATE TABLE IF NOT EXISTS teamkeep.events_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, time Nullable(DateTime64(3, 'UTC')), id String, event Nullable(String), session Nullable(String),
  team Nullable(String), run Nullable(String), agent Nullable(String), agent_id Nullable(String),
  agent_kind Nullable(String), tool Nullable(String), tool_use_id Nullable(String), task Nullable(String),
  source Nullable(String), decision Nullable(String), gate Nullable(String), judged Nullable(String),
  traceparent Nullable(String), malformed Nullable(Bool), payload_bytes Nullable(Int64), payload Nullable(String),
  log Nullable(String), line Nullable(Int64)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, id)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.events_arriving TO teamkeep.events_rows AS
SELECT
  v, org, host, store, shipped_at, day, time, assumeNotNull(arriving.id) AS id, event, session, team, run, agent,
  agent_id, agent_kind, tool, tool_use_id, task, source, decision, gate, judged, traceparent, malformed,
  payload_bytes, payload, log, line
FROM teamkeep.arriving
WHERE `table` = 'events' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

-- Each part of a shipment has its own row, with other heads.
CREATE TABLE IF NOT EXISTS teamkeep.hosts_rows (
  v Int64, org LowCardinality(String), host LowCardinality(String), store String, shipped_at DateTime64(3, 'UTC'),
  day Date, time Nullable(DateTime64(3, 'UTC')), user_name Nullable(String), teamkeep_version Nullable(String),
  shipper_version Nullable(String), policy Nullable(String), hooks Array(String),
  privacy Nullable(String), unreadable_bytes Nullable(Int64), lost_bytes Nullable(Int64), last_error Nullable(String),
  heads Array(String), runs Nullable(Int64), events Nullable(Int64)
)
ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (org, store, shipped_at, heads)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.hosts_arriving TO teamkeep.hosts_rows AS
SELECT
  v, org, host, store, shipped_at, day, time, user_name, teamkeep_version, shipper_version, policy,
  hooks, privacy, unreadable_bytes, lost_bytes, last_error, heads, runs, events
FROM teamkeep.arriving
WHERE `table` = 'hosts' AND teamkeepProblem(object, `table`, v, org, host, store, shipped_at, arriving.id, arriving.run, revision) = '';

-- Of the rows of a run, those of one shipment count.
CREATE OR REPLACE VIEW teamkeep.counting AS
SELECT argMax(shipment, (revision, shipped_at)) AS shipment FROM teamkeep.runs_rows GROUP BY run_key;

CREATE OR REPLACE VIEW teamkeep.runs AS
SELECT * FROM teamkeep.runs_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.agents AS
SELECT * FROM teamkeep.agents_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.turns AS
SELECT * FROM teamkeep.turns_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.tasks AS
SELECT * FROM teamkeep.tasks_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.messages AS
SELECT * FROM teamkeep.messages_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.verdicts AS
SELECT * FROM teamkeep.verdicts_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.incidents AS
SELECT * FROM teamkeep.incidents_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.usage AS
SELECT * FROM teamkeep.usage_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.tools AS
SELECT * FROM teamkeep.tools_rows FINAL WHERE shipment IN (SELECT shipment FROM teamkeep.counting)
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.events AS SELECT * FROM teamkeep.events_rows FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE OR REPLACE VIEW teamkeep.hosts AS SELECT * FROM teamkeep.hosts_rows FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- The last state of each store.
CREATE OR REPLACE VIEW teamkeep.newest_hosts AS
SELECT * FROM teamkeep.hosts_rows
WHERE (org, store, shipped_at) IN (SELECT org, store, max(shipped_at) FROM teamkeep.hosts_rows GROUP BY org, store)
ORDER BY unreadable_bytes DESC
LIMIT 1 BY org, store;

-- The heads of the logs: `head` is `log`, `lines` and `hash`.
CREATE OR REPLACE VIEW teamkeep.heads AS
SELECT org, host, store, user_name, shipped_at, head, splitByChar(':', head) AS part, part[1] AS log,
  toInt64OrZero(part[2]) AS lines, part[3] AS hash
FROM teamkeep.hosts
ARRAY JOIN heads AS head;
