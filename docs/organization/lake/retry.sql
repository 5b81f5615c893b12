-- Part of compact.sh: writes the statements that read the objects that are left, one at a time.
.output singles.sql
SELECT load_statement(quoted(path)) FROM reading ANTI JOIN raw USING (path);
.output
