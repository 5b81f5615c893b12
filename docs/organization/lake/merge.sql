-- Part of compact.sh: writes the files of a day, each with its old and its new rows. The file in `runs` is written last: until then,
-- the other files have the rows of the runs in the old file and in the new one.
SET preserve_insertion_order = false;

CREATE OR REPLACE TABLE files AS
SELECT split_part(file, '/', -2) AS table_name, file, split_part(file, '/', -1) = getenv('DAY') || '.parquet' AS is_of_day
FROM glob(getenv('LAKE') || '/tables/*/*.parquet');

-- The file of the day, or those of other days. Every table has a file without rows, none.parquet.
CREATE OR REPLACE MACRO day_files(wanted) AS (
  SELECT '[' || string_agg(quoted(file), ', ') || ']'
  FROM files
  WHERE table_name = wanted AND (is_of_day OR file LIKE '%/none.parquet')
);
CREATE OR REPLACE MACRO other_files(wanted) AS (
  SELECT '[' || string_agg(quoted(file), ', ') || ']' FROM files WHERE table_name = wanted AND NOT is_of_day
);

.output tables.sql
-- The old rows and the new ones.
SELECT 'CREATE OR REPLACE VIEW merged_' || name || ' AS SELECT * EXCLUDE (path, given) FROM new_' || name
  || ' WHERE path NOT IN (SELECT path FROM problems) UNION ALL BY NAME SELECT * FROM read_parquet(' || day_files(name)
  || ', union_by_name = true);'
FROM (SELECT DISTINCT name FROM columns);
-- The shipment that counts of each run.
SELECT 'CREATE OR REPLACE TABLE counting AS SELECT org, store, run, shipped_at FROM merged_runs QUALIFY row_number() OVER '
  || '(PARTITION BY org, store, run ORDER BY revision DESC, shipped_at DESC) = 1;';
SELECT 'CREATE OR REPLACE TABLE kept AS FROM counting UNION SELECT org, store, run, shipped_at FROM read_parquet('
  || day_files('runs') || ');';
-- The files.
SELECT 'COPY (' || CASE
    WHEN name = 'events' THEN 'SELECT * FROM merged_events ANTI JOIN (SELECT org, store, id FROM read_parquet(' || other_files(name)
      || ') WHERE day BETWEEN (SELECT min(day) FROM new_events) AND (SELECT max(day) '
      || 'FROM new_events)) USING (org, store, id) '
      || 'QUALIFY row_number() OVER (PARTITION BY org, store, id ORDER BY shipped_at) = 1'
    WHEN name = 'hosts' THEN 'SELECT DISTINCT * FROM merged_hosts'
    ELSE 'SELECT DISTINCT * FROM merged_' || name || ' SEMI JOIN ' || if(name = 'runs', 'counting', 'kept')
      || ' USING (org, store, run, shipped_at)'
  END || ') TO ' || quoted(getenv('LAKE') || '/tables/' || name || '/' || getenv('DAY') || '.parquet') || ' (COMPRESSION zstd);'
FROM (SELECT DISTINCT name FROM columns)
ORDER BY name = 'runs';
.output
.read tables.sql
