-- Part of compact.sh: finds the objects that are not in the tables yet.
SET VARIABLE lake = getenv('LAKE');

-- The columns of all tables. One that has several types is read as JSON, and converted later.
CREATE TABLE columns AS
SELECT table_name AS name, column_name AS col, column_index AS position, data_type AS type
FROM duckdb_columns()
WHERE NOT internal AND table_name NOT IN ('objects', 'columns');

CREATE TABLE raw_columns AS
SELECT col, CASE WHEN count(DISTINCT type) > 1 THEN 'JSON' ELSE any_value(type) END AS type
FROM columns
GROUP BY col;

CREATE MACRO quoted(word) AS '''' || replace(word, '''', '''''') || '''';

-- The file without rows makes sure that every table has a file.
.output none.sql
SELECT 'COPY (FROM ' || table_name || ') TO ' || quoted(getenv('LAKE') || '/tables/' || table_name || '/none.parquet') || ';'
FROM duckdb_tables()
ANTI JOIN (
  SELECT split_part(file, '/', -2) AS table_name FROM glob(getenv('LAKE') || '/tables/*/none.parquet')
) USING (table_name)
WHERE table_name NOT IN ('columns', 'raw_columns');
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

-- The statement that reads objects, or fails.
CREATE MACRO load_statement(paths) AS
  'INSERT INTO raw BY NAME SELECT * FROM read_json([' || paths || '], format = ''newline_delimited'', '
  || 'compression = ''gzip'', maximum_object_size = 67108864, filename = ''path'', hive_partitioning = false, columns = {''table'': ''VARCHAR'', '
  || (SELECT string_agg(quoted(col) || ': ' || quoted(type), ', ' ORDER BY col) FROM raw_columns) || '});';

.output raw.sql
SELECT 'CREATE OR REPLACE TABLE raw (path VARCHAR, "table" VARCHAR, '
  || string_agg('"' || col || '" ' || type, ', ' ORDER BY col) || ');' FROM raw_columns;
.output
