.output singles.sql
SELECT load_statement(quoted(path)) FROM reading ANTI JOIN raw USING (path);
.output
