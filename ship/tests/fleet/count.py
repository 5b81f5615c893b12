"""Counts the rows that count of a fleet, with DuckDB and with ClickHouse: `count.py ENDPOINT BUCKET/PREFIX`. Prints JSON."""

import glob
import json
import os
import sys

import duckdb
import duckdb_extension_httpfs
from chdb import session

endpoint, prefix = sys.argv[1:]
TEXTS = ["table", "org", "host", "store", "shipped_at", "run", "id", "incident"]
NUMBERS = ["revision", "completed_tasks", "turns", "events", "calls", "output_tokens"]
# The number of rows or the sum of a column; a checksum is SHA-256 of the sorted texts, joined with commas.
COUNTS = {
    "events": ("events", "count(*)"),
    "runs": ("runs", "count(*)"),
    "messages": ("messages", "count(*)"),
    "tasks": ("tasks", "count(*)"),
    "completed_tasks": ("runs", "sum(completed_tasks)"),
    "turns": ("turns", "count(*)"),
    "run_events": ("runs", "sum(events)"),
    "tool_calls": ("tools", "sum(calls)"),
    "output_tokens": ("usage", "sum(output_tokens)"),
    "incidents": ("incidents", "count(*)"),
    "stores": ("hosts", "count(DISTINCT store)"),
}
CHECKSUMS = {
    "event_ids": ("events", "concat(host, '/', id)"),
    "incident_ids": ("incidents", "concat(host, '/', run, '/', incident)"),
}
# Of the rows of a run those of the shipment with the last revision, and of equal events one.
COUNTING = """
SELECT sent.* FROM sent JOIN (
  SELECT org, store, run, max((revision, shipped_at)) AS version FROM sent WHERE "table" = 'runs' GROUP BY org, store, run
) AS newest ON sent.org = newest.org AND sent.store = newest.store AND sent.run = newest.run
WHERE (sent.revision, sent.shipped_at) = newest.version AND "table" NOT IN ('events', 'hosts')
UNION ALL SELECT * FROM sent WHERE "table" = 'hosts'
UNION ALL """


def in_duckdb():
    extension = glob.glob(os.path.dirname(duckdb_extension_httpfs.__file__) + "/extensions/*/httpfs.duckdb_extension")[0]
    db = duckdb.connect()
    db.execute(f"LOAD '{extension}'")
    host = endpoint.removeprefix("http://")
    db.execute(f"CREATE SECRET (TYPE s3, KEY_ID 'AK', SECRET 'SK', ENDPOINT '{host}', USE_SSL false, URL_STYLE 'path')")
    columns = {name: "VARCHAR" for name in TEXTS} | {name: "BIGINT" for name in NUMBERS}
    db.execute(
        f"CREATE TABLE sent AS SELECT * FROM read_json('s3://{prefix}/rows/org=*/date=*/host=*/*.jsonl.gz', "
        f"format = 'newline_delimited', hive_partitioning = false, columns = {columns})"
    )
    once = "SELECT DISTINCT ON (org, store, id) * FROM sent WHERE \"table\" = 'events'"
    db.execute(f"CREATE TABLE rows AS {COUNTING} SELECT * FROM ({once})")

    def one(table, what):
        return db.execute(f"SELECT {what} FROM rows WHERE \"table\" = '{table}'").fetchone()[0]

    found = {key: int(one(table, what) or 0) for key, (table, what) in COUNTS.items()}
    for key, (table, text) in CHECKSUMS.items():
        found[key] = one(table, f"sha256(coalesce(string_agg({text}, ',' ORDER BY {text}), ''))")
    return found


def in_clickhouse():
    db = session.Session()
    columns = [f'"{name}" String' for name in TEXTS] + [f"{name} Int64" for name in NUMBERS]
    files = f"s3('{endpoint}/{prefix}/rows/org=*/date=*/host=*/*.jsonl.gz', 'AK', 'SK', 'JSONEachRow', '{', '.join(columns)}')"
    db.query("CREATE DATABASE fleet")
    db.query(f"CREATE TABLE fleet.sent ENGINE = Memory AS SELECT * FROM {files} SETTINGS use_hive_partitioning = 0")
    once = "SELECT * FROM sent WHERE \"table\" = 'events' LIMIT 1 BY org, store, id"
    db.query(f"CREATE TABLE fleet.rows ENGINE = Memory AS {COUNTING} SELECT * FROM ({once})".replace(" sent", " fleet.sent").replace("fleet.sent.*", "sent.*"))

    def one(table, what):
        query = f"SELECT {what} AS x FROM fleet.rows WHERE \"table\" = '{table}'"
        return json.loads(str(db.query(query, "JSONEachRow")))["x"]

    found = {key: int(one(table, what) or 0) for key, (table, what) in COUNTS.items()}
    for key, (table, text) in CHECKSUMS.items():
        texts = f"arraySort(groupArray({text}))"
        found[key] = one(table, f"lower(hex(SHA256(arrayStringConcat({texts}, ','))))")
    return found


print(json.dumps({"duckdb": in_duckdb(), "clickhouse": in_clickhouse()}))
