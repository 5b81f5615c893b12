"""Runs the queries of docs/organization in their engines and prints the rows of each as JSON.

Usage: run.py LAKE DOCS, where LAKE is the directory with the tables and DOCS is docs/organization.
Output: {"duckdb": {NAME: [ROW, ...]}, "clickhouse": ..., "trino": ..., "grafana": ...}. The queries for Trino run in DuckDB, in the
translation of sqlglot, because Trino needs a server.
"""

import json
import re
import sys
from pathlib import Path

import chdb.session
import duckdb
import sqlglot

lake, docs = Path(sys.argv[1]), Path(sys.argv[2])
QUERY = "-- Query: "


def statements(path):
    """The statements of a file, each with the name of its query; None for views and tables."""
    for text in (docs / "queries" / path).read_text().split(";\n"):
        lines = text.strip().splitlines()
        names = [line.removeprefix(QUERY) for line in lines if line.startswith(QUERY)]
        code = "\n".join(line for line in lines if not line.startswith("--")).strip()
        if code:
            yield (names[0] if names else None), code


def in_duckdb(connection, found):
    results = {}
    for name, code in found:
        if name is None:
            connection.execute(code)
        else:
            rows = connection.execute(f"SELECT to_json(one)::VARCHAR FROM ({code}) AS one").fetchall()
            results[name] = [json.loads(row) for (row,) in rows]
    return results


def duckdb_connection():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET VARIABLE lake = '{lake}'")
    return connection


def run_duckdb():
    return in_duckdb(duckdb_connection(), statements("duckdb.sql"))


def run_trino():
    """Declares the tables as views, then runs views and queries in the translation."""
    connection = duckdb_connection()
    connection.execute("ATTACH ':memory:' AS hive")
    for _, code in statements("trino-tables.sql"):
        table = sqlglot.parse_one(code, read="trino").find(sqlglot.exp.Table)
        if code.startswith("CREATE TABLE"):
            objects = f"{lake}/{table.name.removeprefix('all_')}/*/*/*/*.parquet"
            types = "{'org': VARCHAR, 'date': DATE, 'host': VARCHAR}"
            connection.execute(
                f"CREATE VIEW hive.teamkeep.{table.name} AS SELECT * FROM read_parquet('{objects}', "
                f"hive_partitioning = true, hive_types = {types}, union_by_name = true)"
            )
            declared = [column.name for column in sqlglot.parse_one(code, read="trino").find_all(sqlglot.exp.ColumnDef)]
            found = [row[0] for row in connection.execute(f"DESCRIBE hive.teamkeep.{table.name}").fetchall()]
            assert set(declared) <= set(found), f"{table.name}: {set(declared) - set(found)}"
        elif code.startswith("CREATE SCHEMA"):
            connection.execute("CREATE SCHEMA hive.teamkeep")
    translated = (
        (name, sqlglot.transpile(code, read="trino", write="duckdb")[0]) for name, code in statements("trino.sql")
    )
    return in_duckdb(connection, translated)


def clickhouse_session():
    """The views, on the directory instead of a named collection."""
    session = chdb.session.Session()
    results = {}
    for name, code in statements("clickhouse.sql"):
        code = code.replace("s3(teamkeep, filename = '", f"file('{lake}/")
        if name is None:
            session.query(code)
        else:
            results[name] = rows_of(session, code)
    return session, results


def rows_of(session, code):
    lines = str(session.query(code, "JSONEachRow")).splitlines()
    return [json.loads(line) for line in lines if line]


def run_grafana(session):
    """The queries of the dashboard, with its macros and variables replaced as Grafana does."""
    dashboard = json.loads((docs / "grafana.json").read_text())
    assert dashboard["schemaVersion"] >= 39 and dashboard["title"] and dashboard["__inputs"]
    [variable] = [one for one in dashboard["templating"]["list"] if one["name"] == "org"]
    results = {"org": rows_of(session, variable["query"]["rawSql"])}
    organizations = ", ".join(f"'{row['org']}'" for row in results["org"])
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard["panels"]:
        assert {"type", "title", "gridPos", "datasource", "fieldConfig", "options"} <= set(panel), panel["title"]
        for target in panel["targets"]:
            code = target["rawSql"].replace("${org:singlequote}", organizations)
            code = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= toDateTime(0) AND \1 <= toDateTime(4102444800)", code)
            assert "$" not in code, code
            results[panel["title"]] = rows_of(session, code)
    return results


clickhouse, clickhouse_results = clickhouse_session()
json.dump(
    {
        "duckdb": run_duckdb(),
        "trino": run_trino(),
        "clickhouse": clickhouse_results,
        "grafana": run_grafana(clickhouse),
    },
    sys.stdout,
    default=str,
)
