-- Part of compact.sh: notes the objects of a day that were read, and the problems of the others.
SET VARIABLE file = getenv('LAKE') || '/tables/objects/' || getenv('DAY') || '.parquet';
SET VARIABLE files = (SELECT list(file) FROM glob(getenv('LAKE') || '/tables/objects/*.parquet') WHERE
  split_part(file, '/', -1) IN ('none.parquet', getenv('DAY') || '.parquet'));
COPY (
  SELECT day, object, org, host, problem FROM reading LEFT JOIN problems USING (path)
  UNION ALL
  FROM (FROM read_parquet(getvariable('files')) AS old ANTI JOIN reading USING (object) ANTI JOIN gone USING (object))
) TO (getvariable('file'));
SELECT 'skipped: ' || object || ': ' || problem FROM problems JOIN reading USING (path) ORDER BY object;
SELECT getenv('DAY') || ': ' || (SELECT count(*) FROM reading) || ' objects, ' || (SELECT count(*) FROM problems) || ' of them skipped, '
  || (SELECT count(*) FROM raw) || ' rows';
