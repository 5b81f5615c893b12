-- Part of compact.sh: writes the statements that read the objects of a day, 100 at once.
TRUNCATE raw;
CREATE OR REPLACE TABLE reading AS
SELECT *, row_number() OVER (ORDER BY path) // 100 AS batch
FROM pending
WHERE day = getenv('DAY')::DATE;

.output batches.sql
SELECT load_statement(string_agg(quoted(path), ', ')) FROM reading GROUP BY batch;
.output
