-- Part of compact.sh: finds the objects that are not in the tables yet.

CREATE TABLE columns AS
SELECT table_name AS name, column_name AS col, column_index AS position, data_type AS type
FROM duckdb_columns()
WHERE NOT internal AND table_name NOT IN ('objects', 'columns');

CREATE MACRO quoted(word) AS '''' || replace(word, '''', '''''') || '''';

-- The file without rows makes sure that every table has a file.
.output none.sql
SELECT 'COPY (FROM ' || table_name || ') TO ' || quoted(getenv('LAKE') || '/tables/' || table_name || '/none.parquet') || ';'
FROM duckdb_tables()
ANTI JOIN (
  SELECT split_part(file, '/', -2) AS table_name FROM glob(getenv('LAKE') || '/tables/*/none.parquet')
) USING (table_name)
WHERE table_name <> 'columns';
.output
.read none.sql

-- Objects with names of another form are not of teamkeep. `day` is that of the shipment.
CREATE TABLE found AS
SELECT file AS path, 'rows/' || split_part(file, '/rows/', -1) AS object, part.org AS org,
  TRY_CAST(part.date AS DATE) AS day, part.host AS host
FROM (
  SELECT file, regexp_extract(
    file, '/rows/org=([A-Za-z0-9._-]+)/date=([0-9-]{10})/host=([A-Za-z0-9._-]+)/[A-Za-z0-9._-]+\.jsonl\.gz$',
    ['org', 'date', 'host']
  ) AS part
  FROM glob(getenv('LAKE') || '/rows/org=*/date=*/host=*/*')
);

-- Objects that could not be read are tried again.
SET VARIABLE files = (SELECT list(file) FROM glob(getenv('LAKE') || '/tables/objects/*.parquet'));
CREATE TABLE pending AS
FROM found
ANTI JOIN (SELECT object FROM read_parquet(getvariable('files')) WHERE problem IS NULL) USING (object)
WHERE found.day IS NOT NULL;

-- Objects that could not be read, and were deleted since.
CREATE TABLE gone AS
SELECT DISTINCT day, object
FROM read_parquet(getvariable('files'))
ANTI JOIN found USING (object)
WHERE problem IS NOT NULL;

-- The rows of a day, and the statement that reads those of some objects, or fails.
CREATE TABLE raw (path VARCHAR, "table" VARCHAR, json JSON);
CREATE MACRO load_statement(paths) AS
  'INSERT INTO raw SELECT filename, json ->> ''$.table'', json FROM read_json_objects([' || paths || '], filename = true, '
  || 'format = ''newline_delimited'', compression = ''gzip'', hive_partitioning = false, maximum_object_size = 67108864);';
