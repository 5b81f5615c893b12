-- Part of compact.sh: takes out the objects that have a problem. An object is left out as a whole.

CREATE OR REPLACE TABLE problems AS
SELECT path, min(problem) AS problem
FROM (
  SELECT path, CASE
    WHEN raw.v IS DISTINCT FROM 1 THEN 'v is ' || coalesce(raw.v::VARCHAR, 'missing') || ', not 1'
    WHEN raw.org IS DISTINCT FROM reading.org OR raw.host IS DISTINCT FROM reading.host
      THEN 'rows of another organization or host'
    WHEN (raw.shipped_at AT TIME ZONE 'UTC')::DATE IS DISTINCT FROM reading.day THEN 'rows of another day'
    WHEN "table" IS NULL OR raw.store IS NULL OR raw.day IS NULL THEN 'rows without table, store or day'
    WHEN "table" = 'events' AND id IS NULL THEN 'events without id'
    WHEN "table" NOT IN ('events', 'hosts') AND (run IS NULL OR revision IS NULL) THEN 'rows without run or revision'
  END AS problem
  FROM raw
  JOIN reading USING (path)
)
WHERE problem IS NOT NULL
GROUP BY path;
INSERT INTO problems
SELECT path, coalesce(text, 'no rows')
FROM reading
ANTI JOIN raw USING (path)
LEFT JOIN read_csv('problems.tsv', auto_detect = false, delim = '\t', header = false, quote = '', escape = '',
  columns = {'path': 'VARCHAR', 'text': 'VARCHAR'}) AS failed USING (path);
DELETE FROM raw WHERE path IN (SELECT path FROM problems);
