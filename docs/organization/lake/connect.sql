-- How DuckDB reaches the object store. The scripts of this directory run it first; a directory needs none of it.
-- INSTALL httpfs;
-- LOAD httpfs;
-- CREATE SECRET (TYPE s3, PROVIDER credential_chain);
-- SET threads = 16; -- requests at once
SET TimeZone = 'UTC';
