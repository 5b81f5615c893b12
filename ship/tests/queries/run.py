"""Compacts a lake, ingests it, runs the queries of docs/organization in both engines, and prints the rows of each as JSON.

Usage: run.py LAKE DOCS, where LAKE is the directory with the objects of rows, and DOCS is docs/organization.
Output: {"duckdb": {NAME: [ROW, ...]}, "clickhouse": ..., "grafana": ...}.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from engines import ClickHouse, DuckDb, compact, objects_in

# More days than any test has.
DAYS = 100_000


def grafana_results(clickhouse, docs):
    """The queries of the dashboard, with its macros and variables replaced as Grafana does."""
    dashboard = json.loads((docs / "grafana.json").read_text())
    assert dashboard["schemaVersion"] >= 39 and dashboard["title"] and dashboard["__inputs"]
    [variable] = [one for one in dashboard["templating"]["list"] if one["name"] == "org"]
    results = {"org": clickhouse.rows(variable["query"]["rawSql"])}
    organizations = ", ".join(f"'{row['org']}'" for row in results["org"])
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard["panels"]:
        assert {"type", "title", "gridPos", "datasource", "fieldConfig", "options"} <= set(panel), panel["title"]
        for target in panel["targets"]:
            code = target["rawSql"].replace("${org:singlequote}", organizations)
            code = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= toDateTime(0) AND \1 <= toDateTime(4102444800)", code)
            assert "$" not in code, code
            results[panel["title"]] = clickhouse.rows(code)
    return results


def main():
    lake, docs = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        compact(lake, DAYS, scratch, docs)
    clickhouse = ClickHouse(docs=docs)
    clickhouse.ingest("file", "", objects_in(lake))
    results = {
        "duckdb": DuckDb(lake, docs).results(),
        "clickhouse": clickhouse.results(),
        "grafana": grafana_results(clickhouse, docs),
    }
    json.dump(results, sys.stdout, default=str)


main()
