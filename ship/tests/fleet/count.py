"""Counts what a fleet has shipped, with DuckDB and with ClickHouse: `count.py ENDPOINT BUCKET/PREFIX`. Prints JSON."""

import glob
import json
import os
import sys

import chdb
import duckdb
import duckdb_extension_httpfs

endpoint, prefix = sys.argv[1:]
# The number of rows or the sum of a column; a checksum is SHA-256 of the sorted texts, joined with commas.
COUNTS = {
    "events": ("events", "count(*)"),
    "runs": ("runs", "count(*)"),
    "messages": ("messages", "count(*)"),
    "tasks": ("tasks", "count(*)"),
    "completed_tasks": ("runs", "sum(completed_tasks)"),
    "turns": ("runs", "sum(turns)"),
    "run_events": ("runs", "sum(events)"),
    "tool_calls": ("tools", "sum(calls)"),
    "output_tokens": ("usage", "sum(output_tokens)"),
    "incidents": ("incidents", "count(*)"),
}
CHECKSUMS = {
    "event_ids": ("events", "concat(host, '/', id)"),
    "incident_ids": ("incidents", "concat(host, '/', run, '/', incident)"),
}


def in_duckdb():
    extension = glob.glob(os.path.dirname(duckdb_extension_httpfs.__file__) + "/extensions/*/httpfs.duckdb_extension")[0]
    db = duckdb.connect()
    db.execute(f"LOAD '{extension}'")
    host = endpoint.removeprefix("http://")
    db.execute(f"CREATE SECRET (TYPE s3, KEY_ID 'AK', SECRET 'SK', ENDPOINT '{host}', USE_SSL false, URL_STYLE 'path')")

    def one(table, what):
        files = f"read_parquet('s3://{prefix}/{table}/*/*/*/*.parquet', hive_partitioning = true)"
        return db.execute(f"SELECT {what} FROM {files}").fetchone()[0]

    found = {key: int(one(table, what) or 0) for key, (table, what) in COUNTS.items()}
    for key, (table, text) in CHECKSUMS.items():
        found[key] = one(table, f"sha256(coalesce(string_agg({text}, ',' ORDER BY {text}), ''))")
    return found


def in_clickhouse():
    def one(table, what):
        files = f"s3('{endpoint}/{prefix}/{table}/*/*/*/*.parquet', 'AK', 'SK', 'Parquet')"
        query = f"SELECT {what} AS x FROM {files} SETTINGS use_hive_partitioning = 1"
        return json.loads(str(chdb.query(query, "JSONEachRow")))["x"]

    found = {key: int(one(table, what) or 0) for key, (table, what) in COUNTS.items()}
    for key, (table, text) in CHECKSUMS.items():
        texts = f"arraySort(groupArray(assumeNotNull({text})))"
        found[key] = one(table, f"lower(hex(SHA256(arrayStringConcat({texts}, ','))))")
    return found


print(json.dumps({"duckdb": in_duckdb(), "clickhouse": in_clickhouse()}))
