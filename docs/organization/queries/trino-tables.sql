-- Tables for Trino's Hive connector. Generated from the program by
--   TEAMKEEP_GENERATE=1 cargo test --locked -p teamkeep-ship --test docs
-- Replace s3://BUCKET/PREFIX by the location of the tables.

CREATE SCHEMA IF NOT EXISTS hive.teamkeep;

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_runs (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "time" timestamp(3),
  "ended_at" timestamp(3),
  "duration_ms" bigint,
  "ended_by" varchar,
  "outcome" varchar,
  "session" varchar,
  "user_name" varchar,
  "project" varchar,
  "client_version" varchar,
  "title" varchar,
  "members" bigint,
  "messages" bigint,
  "automatic_messages" bigint,
  "refused_messages" bigint,
  "tasks" bigint,
  "completed_tasks" bigint,
  "turns" bigint,
  "events" bigint,
  "snapshots" bigint,
  "worked_ms" bigint,
  "input_tokens" bigint,
  "output_tokens" bigint,
  "cache_read_tokens" bigint,
  "cache_write_tokens" bigint,
  "cost_usd" double,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/runs',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_agents (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "agent" varchar,
  "kind" varchar,
  "agent_ids" array(varchar),
  "type" varchar,
  "model" varchar,
  "time" timestamp(3),
  "left_at" timestamp(3),
  "turns" bigint,
  "working_ms" bigint,
  "waiting_ms" bigint,
  "idle_ms" bigint,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/agents',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_tasks (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "task" varchar,
  "status" varchar,
  "owner" varchar,
  "subject" varchar,
  "blocked_by" array(varchar),
  "time" timestamp(3),
  "changed_at" timestamp(3),
  "removed_at" timestamp(3),
  "changes" bigint,
  "model_messages" bigint,
  "input_tokens" bigint,
  "output_tokens" bigint,
  "cache_read_tokens" bigint,
  "cache_write_tokens" bigint,
  "cost_usd" double,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/tasks',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_messages (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "number" bigint,
  "time" timestamp(3),
  "sender" varchar,
  "recipient" varchar,
  "kind" varchar,
  "automatic" boolean,
  "delivered" boolean,
  "refused" boolean,
  "blocked" boolean,
  "chars" bigint,
  "summary" varchar,
  "text" varchar,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/messages',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_verdicts (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "number" bigint,
  "time" timestamp(3),
  "agent" varchar,
  "decision" varchar,
  "gate" varchar,
  "event" varchar,
  "blocks" bigint,
  "paused" boolean,
  "repeated" boolean,
  "reason" varchar,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/verdicts',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_incidents (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "incident" varchar,
  "kind" varchar,
  "severity" varchar,
  "agents" array(varchar),
  "tasks" array(varchar),
  "time" timestamp(3),
  "ended_at" timestamp(3),
  "seconds" bigint,
  "tasks_lost" bigint,
  "tokens" bigint,
  "cost_usd" double,
  "summary" varchar,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/incidents',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_usage (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "agent" varchar,
  "models" array(varchar),
  "model_messages" bigint,
  "input_tokens" bigint,
  "output_tokens" bigint,
  "cache_read_tokens" bigint,
  "cache_write_tokens" bigint,
  "cost_usd" double,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/usage',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.all_tools (
  "run" varchar,
  "revision" bigint,
  "team" varchar,
  "agent" varchar,
  "tool" varchar,
  "calls" bigint,
  "failed" bigint,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/tools',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

CREATE TABLE IF NOT EXISTS hive.teamkeep.events (
  "time" timestamp(3),
  "id" varchar,
  "event" varchar,
  "session" varchar,
  "team" varchar,
  "run" varchar,
  "agent" varchar,
  "agent_id" varchar,
  "agent_kind" varchar,
  "tool" varchar,
  "tool_use_id" varchar,
  "task" varchar,
  "source" varchar,
  "decision" varchar,
  "gate" varchar,
  "judged" varchar,
  "traceparent" varchar,
  "malformed" boolean,
  "payload_bytes" bigint,
  "payload" varchar,
  "segment" varchar,
  "line" bigint,
  "head" varchar,
  "org" varchar,
  "date" date,
  "host" varchar
) WITH (
  external_location = 's3://BUCKET/PREFIX/events',
  format = 'PARQUET',
  partitioned_by = ARRAY['org', 'date', 'host']
);

-- Run these again to find the partitions of new days and hosts.
CALL hive.system.sync_partition_metadata('teamkeep', 'all_runs', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_agents', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_tasks', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_messages', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_verdicts', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_incidents', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_usage', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'all_tools', 'FULL');
CALL hive.system.sync_partition_metadata('teamkeep', 'events', 'FULL');
