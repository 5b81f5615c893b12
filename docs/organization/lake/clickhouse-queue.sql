-- Reads the objects of an object store into the tables of clickhouse.sql as they arrive. The named collection `teamkeep` has the location
-- and the credentials. Needs ClickHouse Keeper.

CREATE TABLE IF NOT EXISTS teamkeep.queue AS teamkeep.arriving
ENGINE = S3Queue(teamkeep)
SETTINGS mode = 'unordered', loading_retries = 5, tracked_files_limit = 10000000, enable_logging_to_queue_log = 1,
  date_time_input_format = 'best_effort', use_hive_partitioning = 0;

CREATE MATERIALIZED VIEW IF NOT EXISTS teamkeep.queue_arriving TO teamkeep.arriving AS
SELECT * REPLACE (_path AS object) FROM teamkeep.queue;
