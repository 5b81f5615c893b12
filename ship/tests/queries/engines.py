"""The lake and its two engines, as docs/organization/lake.md sets them up.

A lake is a directory, or an address `s3://BUCKET/PREFIX` with the server and the keys in the environment (AWS_ENDPOINT_URL,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import chdb.session
import duckdb

DOCS = Path(__file__).parents[3] / "docs" / "organization"
QUERY = "-- Query: "


def statements(path):
    """The statements of a file, each with the name of its query; None for the others."""
    for text in path.read_text().split(";\n"):
        lines = text.strip().splitlines()
        names = [line.removeprefix(QUERY) for line in lines if line.startswith(QUERY)]
        code = "\n".join(line for line in lines if not line.startswith("--")).strip()
        if code:
            yield (names[0] if names else None), code


def connect_sql(lake):
    """The statements with which DuckDB reaches the lake."""
    zone = "SET TimeZone = 'UTC';\n"
    if not lake.startswith("s3://"):
        return zone
    import duckdb_extension_httpfs

    [extension] = Path(duckdb_extension_httpfs.__file__).parent.glob("extensions/*/httpfs.duckdb_extension")
    scheme, endpoint = os.environ["AWS_ENDPOINT_URL"].split("://")
    return zone + (
        f"LOAD '{extension}';\nCREATE SECRET (TYPE s3, KEY_ID '{os.environ['AWS_ACCESS_KEY_ID']}', "
        f"SECRET '{os.environ['AWS_SECRET_ACCESS_KEY']}', REGION 'us-east-1', ENDPOINT '{endpoint}', URL_STYLE 'path', "
        f"USE_SSL {scheme == 'https'});\n"
    )


def script(name, *args, lake, scratch, docs=DOCS):
    """Runs a script of the lake, with the `duckdb` beside this Python, and returns its lines."""
    connect = Path(scratch, "connect.sql")
    connect.write_text(connect_sql(lake))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["sh", docs / "lake" / name, lake, *args]
    done = subprocess.run(command, env={**os.environ, "PATH": path, "CONNECT": str(connect)}, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def compact(lake, days, scratch, docs=DOCS):
    return script("compact.sh", str(days), lake=lake, scratch=scratch, docs=docs)


class DuckDb:
    """The views on the compacted tables."""

    def __init__(self, lake, docs=DOCS):
        self.connection = duckdb.connect()
        self.connection.execute(connect_sql(lake))
        self.connection.execute(f"SET VARIABLE lake = '{lake}'")
        self.queries = {}
        for name, code in statements(docs / "queries" / "duckdb.sql"):
            if name is None:
                self.connection.execute(code)
            else:
                self.queries[name] = code

    def rows(self, code):
        rows = self.connection.execute(f"SELECT to_json(one)::VARCHAR FROM ({code}) AS one").fetchall()
        return [json.loads(row) for (row,) in rows]

    def results(self):
        return {name: self.rows(code) for name, code in self.queries.items()}


class ClickHouse:
    """The tables, and the materialized views that fill them. Instead of `S3Queue`, which needs a server, `ingest` inserts the
    objects one by one."""

    def __init__(self, path=None, docs=DOCS):
        self.session = chdb.session.Session(path) if path else chdb.session.Session()
        for _, code in statements(docs / "lake" / "clickhouse.sql"):
            self.session.query(code)
        self.queries = dict(statements(docs / "queries" / "clickhouse.sql"))
        described = self.rows("DESCRIBE teamkeep.arriving")
        self.columns = {column["name"]: column["type"] for column in described if column["name"] != "object"}
        self.failed = {}

    def ingest(self, function, root, names, keys=()):
        """Inserts the objects that a table function finds below a root. `failed` has those that cannot be inserted."""
        structure = ", ".join(f"`{name}` {kind}" for name, kind in self.columns.items()).replace("'", "\\'")
        columns = ", ".join(f"`{name}`" for name in self.columns)
        for name in names:
            arguments = ", ".join(f"'{text}'" for text in [root + name, *keys, "JSONEachRow", structure, "gzip"])
            try:
                self.session.query(
                    f"INSERT INTO teamkeep.arriving (object, {columns}) SELECT _path, {columns} FROM {function}({arguments}) "
                    "SETTINGS use_hive_partitioning = 0"
                )
            except Exception as error:
                self.failed[name] = str(error).splitlines()[0]

    def rows(self, code):
        lines = str(self.session.query(code, "JSONEachRow")).splitlines()
        return [json.loads(line) for line in lines if line]

    def results(self):
        return {name: self.rows(code) for name, code in self.queries.items()}


def objects_in(directory):
    return sorted(str(path) for path in Path(directory).glob("rows/org=*/date=*/host=*/*.jsonl.gz"))
