-- The tables that compact.sh writes, in DuckDB's types. Within a version (`v`), columns are only added.

CREATE TABLE runs (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, time TIMESTAMPTZ, ended_at TIMESTAMPTZ, duration_ms BIGINT, ended_by VARCHAR, outcome VARCHAR,
  session VARCHAR, user_name VARCHAR, project VARCHAR, client_version VARCHAR, title VARCHAR, members BIGINT,
  messages BIGINT, automatic_messages BIGINT, refused_messages BIGINT, tasks BIGINT, completed_tasks BIGINT,
  turns BIGINT, events BIGINT, snapshots BIGINT, worked_ms BIGINT, input_tokens BIGINT, output_tokens BIGINT,
  cache_read_tokens BIGINT, cache_write_tokens BIGINT, cost_usd DOUBLE, prices_of VARCHAR
);

CREATE TABLE agents (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, agent VARCHAR, kind VARCHAR, agent_ids VARCHAR[], type VARCHAR, model VARCHAR, time TIMESTAMPTZ,
  left_at TIMESTAMPTZ, turns BIGINT, working_ms BIGINT, waiting_ms BIGINT, idle_ms BIGINT
);

CREATE TABLE turns (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, agent VARCHAR, agent_id VARCHAR, time TIMESTAMPTZ, ended_at TIMESTAMPTZ, task_ids VARCHAR[],
  client_spans VARCHAR[]
);

CREATE TABLE tasks (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, task VARCHAR, status VARCHAR, owner VARCHAR, subject VARCHAR, blocked_by VARCHAR[], time TIMESTAMPTZ,
  changed_at TIMESTAMPTZ, removed_at TIMESTAMPTZ, changes BIGINT, model_messages BIGINT, input_tokens BIGINT,
  output_tokens BIGINT, cache_read_tokens BIGINT, cache_write_tokens BIGINT, cost_usd DOUBLE
);

CREATE TABLE messages (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, number BIGINT, time TIMESTAMPTZ, sender VARCHAR, recipient VARCHAR, kind VARCHAR, automatic BOOLEAN,
  delivered BOOLEAN, refused BOOLEAN, blocked BOOLEAN, chars BIGINT, summary VARCHAR, text VARCHAR
);

CREATE TABLE verdicts (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, number BIGINT, time TIMESTAMPTZ, agent VARCHAR, decision VARCHAR, gate VARCHAR, event VARCHAR,
  blocks BIGINT, paused BOOLEAN, repeated BOOLEAN, reason VARCHAR
);

CREATE TABLE incidents (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, incident VARCHAR, kind VARCHAR, severity VARCHAR, agents VARCHAR[], task_ids VARCHAR[], time TIMESTAMPTZ,
  ended_at TIMESTAMPTZ, seconds BIGINT, tasks_lost BIGINT, tokens BIGINT, cost_usd DOUBLE, summary VARCHAR
);

CREATE TABLE usage (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, agent VARCHAR, models VARCHAR[], model_messages BIGINT, input_tokens BIGINT, output_tokens BIGINT,
  cache_read_tokens BIGINT, cache_write_tokens BIGINT, cost_usd DOUBLE
);

CREATE TABLE tools (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, run VARCHAR, revision BIGINT,
  team VARCHAR, agent VARCHAR, tool VARCHAR, calls BIGINT, failed BIGINT
);

CREATE TABLE events (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, time TIMESTAMPTZ, id VARCHAR,
  event VARCHAR, session VARCHAR, team VARCHAR, run VARCHAR, agent VARCHAR, agent_id VARCHAR, agent_kind VARCHAR,
  tool VARCHAR, tool_use_id VARCHAR, task VARCHAR, source VARCHAR, decision VARCHAR, gate VARCHAR, judged VARCHAR,
  traceparent VARCHAR, malformed BOOLEAN, payload_bytes BIGINT, payload VARCHAR, log VARCHAR, line BIGINT
);

CREATE TABLE hosts (
  v BIGINT, org VARCHAR, host VARCHAR, store VARCHAR, shipped_at TIMESTAMPTZ, day DATE, time TIMESTAMPTZ,
  user_name VARCHAR, teamkeep_version VARCHAR, shipper_version VARCHAR, policy VARCHAR,
  hooks VARCHAR[], privacy VARCHAR, unreadable_bytes BIGINT, lost_bytes BIGINT, last_error VARCHAR, heads VARCHAR[],
  runs BIGINT, events BIGINT
);

-- The objects that were read, or could not be read.
CREATE TABLE objects (day DATE, object VARCHAR, org VARCHAR, host VARCHAR, problem VARCHAR);
