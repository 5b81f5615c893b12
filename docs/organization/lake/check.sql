-- Part of compact.sh: converts the rows that were read, and takes out the objects that have a problem, each as a whole.

.output types.sql
-- The rows of each table. A value of another type becomes null. `given` is the number of values in the row that have a column.
SELECT 'CREATE OR REPLACE TABLE new_' || name || ' AS SELECT path, row.*, len(list_intersect(json_keys(json), ['
  || string_agg(quoted(col), ', ') || '])) AS given FROM (SELECT path, json, TRY_CAST(json AS STRUCT('
  || string_agg('"' || col || '" ' || type, ', ' ORDER BY position) || ')) AS row FROM raw WHERE "table" = ' || quoted(name) || ');'
FROM columns
GROUP BY name;
-- Their problems.
SELECT 'CREATE OR REPLACE TABLE problems (path VARCHAR, problem VARCHAR);';
SELECT 'INSERT INTO problems SELECT path, CASE WHEN new.v <> 1 THEN ''v is '' || new.v || '', not 1'' '
  || 'WHEN new.org <> reading.org OR new.host <> reading.host THEN ''rows of another organization or host'' '
  || 'WHEN (new.shipped_at AT TIME ZONE ''UTC'')::DATE <> reading.day THEN ''rows of another day'' '
  || 'WHEN NOT (' || string_agg('new."' || col || '" IS NOT NULL', ' AND ') FILTER (col IN ('v', 'org', 'host', 'store', 'shipped_at', 'day',
    'id', 'revision')) || if(name IN ('events', 'hosts'), '', ' AND new.run IS NOT NULL')
  || ') THEN ' || quoted('incomplete row of ' || name)
  || ' ELSE ' || quoted('invalid value in ' || name) || ' END FROM new_' || name || ' AS new JOIN reading USING (path) '
  || 'WHERE new.v IS DISTINCT FROM 1 OR new.org IS DISTINCT FROM reading.org OR new.host IS DISTINCT FROM reading.host '
  || 'OR (new.shipped_at AT TIME ZONE ''UTC'')::DATE IS DISTINCT FROM reading.day OR given > '
  || string_agg('(new."' || col || '" IS NOT NULL)::INT', ' + ')
  || string_agg(' OR new."' || col || '" IS NULL', '') FILTER (col IN ('store', 'day', 'id', 'revision'))
  || if(name IN ('events', 'hosts'), '', ' OR new.run IS NULL') || ';'
FROM columns
GROUP BY name;
.output
.read types.sql

INSERT INTO problems SELECT path, 'rows without table' FROM raw WHERE "table" IS NULL;
INSERT INTO problems SELECT path, 'rows of another version' FROM raw
WHERE "table" NOT IN (SELECT name FROM columns) AND (json ->> '$.v') IS DISTINCT FROM '1';
INSERT INTO problems
SELECT path, coalesce(text, 'no rows')
FROM reading
ANTI JOIN raw USING (path)
LEFT JOIN read_csv('problems.tsv', auto_detect = false, delim = '\t', header = false, quote = '', escape = '',
  columns = {'path': 'VARCHAR', 'text': 'VARCHAR'}) AS failed USING (path);
CREATE OR REPLACE TABLE problems AS SELECT path, min(problem) AS problem FROM problems GROUP BY path;
DELETE FROM raw WHERE path IN (SELECT path FROM problems);
