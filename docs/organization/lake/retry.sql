-- Part of compact.sh: writes the statements that read each of the objects that are left by itself.
.output singles.sql
SELECT load_statement(quoted(path)) FROM reading ANTI JOIN raw USING (path);
.output
