"""What arrives in a lake is not always as it should be. Each function is a sentence that both engines must fulfil.

Usage: attacks.py [NAME ...]. With AWS_ENDPOINT_URL, the lakes are in its bucket `attacks`, else in directories.
"""

import datetime
import gzip
import hashlib
import hmac
import json
import os
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from engines import ClickHouse, DuckDb, compact, script

NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
TABLES = ["runs", "agents", "turns", "tasks", "messages", "verdicts", "incidents", "usage", "tools", "events", "hosts"]


def text_of(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def request_object(method, name, content=b""):
    """A signed request that creates or deletes an object, or creates a bucket."""
    server = os.environ["AWS_ENDPOINT_URL"]
    path = "/" + urllib.parse.quote(name)
    time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/us-east-1/s3/aws4_request"
    headers = {
        "host": server.split("://")[1],
        "x-amz-content-sha256": hashlib.sha256(content).hexdigest(),
        "x-amz-date": time,
    }
    signed = ";".join(headers)
    lines = [f"{key}:{value}" for key, value in headers.items()]
    request = "\n".join([method, path, "", *lines, "", signed, headers["x-amz-content-sha256"]])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", time, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in [*scope.split("/"), to_sign]:
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}"
    headers["Authorization"] = f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={signed}, Signature={key.hex()}"
    try:
        urllib.request.urlopen(urllib.request.Request(server + path, content, headers, method=method)).close()
    except urllib.error.HTTPError as error:
        # The bucket exists.
        if error.code != 409:
            raise


class Lake:
    """A directory, or a part of a bucket, with objects of rows."""

    def __init__(self, scratch, name):
        self.scratch = Path(scratch)
        self.is_bucket = "AWS_ENDPOINT_URL" in os.environ
        self.location = f"s3://attacks/{os.getpid()}/{name}" if self.is_bucket else str(self.scratch / name)
        self.names = []
        if not self.is_bucket:
            Path(self.location).mkdir()

    def key(self, name):
        return f"{self.location.removeprefix('s3://')}/{name}"

    def delete(self, name):
        if self.is_bucket:
            request_object("DELETE", self.key(name))
        else:
            Path(self.location, name).unlink()

    def put(self, name, content):
        if self.is_bucket:
            request_object("PUT", self.key(name), content)
        else:
            path = Path(self.location, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.names.append(name)
        return name

    def ship(self, rows, host="m1", at=NOW, name=None, org="acme"):
        """Puts an object with these rows, and returns its name."""
        content = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0)
        return self.put(name or f"rows/org={org}/date={at.date()}/host={host}/{at:%Y%m%dT%H%M%S}000Z-{len(self.names):016x}.jsonl.gz", content)

    def compact(self, days=7):
        return compact(self.location, days, self.scratch)

    def duckdb(self):
        return DuckDb(self.location)

    def clickhouse(self):
        """ClickHouse with all objects."""
        clickhouse = ClickHouse()
        if self.is_bucket:
            url = f"{os.environ['AWS_ENDPOINT_URL']}/{self.location.removeprefix('s3://')}/"
            keys = [os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]]
            clickhouse.ingest("s3", url, self.names, keys)
        else:
            clickhouse.ingest("file", f"{self.location}/", self.names)
        return clickhouse

    def engines(self):
        return [self.duckdb(), self.clickhouse()]


def row(table, host="m1", store="00000000000000aa", at=NOW, org="acme", day=None, **columns):
    common = {"table": table, "v": 1, "org": org, "host": host, "store": store, "shipped_at": text_of(at)}
    return {**common, "day": str(day or at.date()), **columns}


def run(run_id, revision=1, tasks=2, cost=1.5, events=(), **common):
    """The rows of a run with this many tasks, its events first, as the shipper sends them."""
    of_run = {"run": run_id, "revision": revision, "team": "payments"}
    time = text_of(common.get("at", NOW))
    rows = [row("events", **common, id=event, time=time, event="Stop", run=run_id, malformed=False) for event in events]
    rows += [
        row("tasks", **common, **of_run, task=str(number), status="completed", blocked_by=[]) for number in range(tasks)
    ]
    rows.append(row("incidents", **common, **of_run, incident="i", kind="lost-work", agents=["bob"], task_ids=["1", "2"], tasks_lost=1))
    rows.append(row("runs", **common, **of_run, time=time, tasks=tasks, cost_usd=cost, user_name="alice", project="parser"))
    return rows


def host_row(**common):
    columns = {"hooks": ["Stop"], "heads": [], "time": text_of(common.get("at", NOW)), "lost_bytes": 0, "unreadable_bytes": 0}
    columns.update({key: common.pop(key) for key in list(common) if key not in ("host", "store", "at", "org", "day")})
    return row("hosts", **common, **columns)


def number(engine, table, expression="count(*)"):
    prefix = "" if isinstance(engine, DuckDb) else "teamkeep."
    [found] = engine.rows(f"SELECT {expression} AS n FROM {prefix}{table}")
    return found["n"]


def same(what, found, expected):
    assert found == expected, f"{what}: {found}, not {expected}"


def a_bad_object_is_skipped_and_named(lake):
    good = lake.ship(run("r1", events=["e1", "e2"]) + [host_row()])
    other_place = good.replace("host=m1", "host=m2")
    of_others = {
        "foreign": [{"hello": "world"}],
        "version": [{**one, "v": 2} for one in run("r2")],
        "type": [{**one, "cost_usd": "much"} if one["table"] == "runs" else one for one in run("r3")],
        "list": [{**one, "agents": 5} if one["table"] == "incidents" else one for one in run("r4")],
        "number": [{**one, "tasks": ["1"]} if one["table"] == "runs" else one for one in run("r5")],
        "time": [{**one, "shipped_at": "yesterday"} for one in run("r6")],
        "store": [{key: value for key, value in one.items() if key != "store"} for one in run("r7")],
        "day": run("r8", at=NOW - datetime.timedelta(days=3)),
        "host": run("r9", host="m2"),
    }
    bad = [lake.ship(rows, name=good.replace(".jsonl", f"-{kind}.jsonl")) for kind, rows in of_others.items()]
    compressed = gzip.compress("".join(json.dumps(one) + "\n" for one in run("r10", tasks=3000)).encode())
    for kind, content in {
        "text": b"not compressed",
        "empty": b"",
        "broken": compressed[:200] + b"\xff" * 9 + compressed[209:],
        "cut": compressed[: len(compressed) // 2],
        "no-json": gzip.compress(b"hello\nworld\n"),
        "array": gzip.compress(b"[1, 2]\n"),
        "half": gzip.compress(b'{"table":"runs","v":1'),
        "utf8": gzip.compress(b'{"table":"runs","v":1,"org":"\xff"}\n'),
        "no-rows": gzip.compress(b""),
    }.items():
        bad.append(lake.put(good.replace(".jsonl", f"-{kind}.jsonl"), content))
    # Without a name of teamkeep, an object is only counted.
    for name in [good.removesuffix(".gz"), good.replace(".jsonl", " '; .shell.jsonl"), good + "#1", good.replace(str(NOW.date()), "yesterday")]:
        lake.put(name, b"")
        lake.names.pop()
    lines = lake.compact()
    same("note", lines[0], "not read, with another name: 4 objects")
    named = sorted(line.split(": ")[1] for line in lines if line.startswith("skipped: "))
    same("named objects", named, sorted(bad))
    # They are named again, and nothing else changes.
    same("second time", [line for line in lake.compact() if line.startswith("skipped: ")], [line for line in lines if line.startswith("skipped: ")])
    duckdb, clickhouse = lake.engines()
    same("objects in the query", sorted(found["object"] for found in duckdb.results()["skipped-objects"]), sorted(bad))
    for engine in [duckdb, clickhouse]:
        same("runs", number(engine, "runs", "max(run)"), "r1")
        same("tasks", int(number(engine, "tasks")), 2)
        same("events", int(number(engine, "events")), 2)
    # ClickHouse leaves out rows, and an object that it cannot parse fails.
    by_clickhouse = {name for name in bad if any(name in failed for failed in clickhouse.failed)}
    by_clickhouse |= {name for name in bad for found in clickhouse.results()["skipped-objects"] if found["object"].endswith(name)}
    harmless = {name for name in bad if "-no-rows" in name or "-empty" in name}
    same("named by ClickHouse", sorted(set(bad) - by_clickhouse - harmless), [])
    assert other_place not in lake.names
    for name in bad[1:]:
        lake.delete(name)
    lake.compact()
    same("objects that are left", [found["object"] for found in lake.duckdb().results()["skipped-objects"]], bad[:1])
    same("runs", number(lake.duckdb(), "runs", "max(run)"), "r1")


def a_repeated_shipment_counts_once(lake):
    rows = run("r1", events=["e1", "e2"]) + [host_row()]
    first = lake.ship(rows)
    lake.ship(rows, name=first.replace(".jsonl", "-copy.jsonl"))
    lake.compact()
    # Again, after the state of the shipper was lost: the same rows on another day.
    later = NOW + datetime.timedelta(days=1)
    lake.ship(run("r1", events=["e1", "e2", "e3"], at=later, day=NOW.date()), at=later)
    lake.compact()
    for engine in lake.engines():
        same("runs", [int(number(engine, table)) for table in ("runs", "tasks", "incidents", "events", "hosts")], [1, 2, 1, 3, 1])
        same("cost", number(engine, "runs", "sum(cost_usd)"), 1.5)


def a_resumed_run_counts_with_its_last_revision(lake):
    """On one day in one compaction and in two, and over two days. The later revision has fewer tasks."""
    before = NOW - datetime.timedelta(days=1)
    lake.ship(run("r1", revision=1, tasks=5, at=before), at=before)
    lake.ship(run("r1", revision=2, tasks=4, at=before + datetime.timedelta(seconds=1)), at=before + datetime.timedelta(seconds=1))
    lake.compact()
    for revision, tasks in [(3, 3), (4, 2)]:
        at = NOW + datetime.timedelta(seconds=revision)
        lake.ship(run("r1", revision=revision, tasks=tasks, cost=float(tasks), at=at, day=before.date()), at=at)
        lake.compact()
    # An earlier revision, sent again later.
    at = NOW + datetime.timedelta(seconds=60)
    lake.ship(run("r1", revision=2, tasks=4, at=at, day=before.date()), at=at)
    lake.compact()
    # Another store has a run of the same name.
    lake.ship(run("r1", store="00000000000000bb", tasks=1), name=f"rows/org=acme/date={NOW.date()}/host=m1/other.jsonl.gz")
    lake.compact()
    for engine in lake.engines():
        same("runs", [int(number(engine, table)) for table in ("runs", "tasks", "incidents")], [2, 3, 2])
        same("cost", number(engine, "runs", "sum(cost_usd)"), 3.5)


def a_late_object_is_found(lake):
    before = NOW - datetime.timedelta(days=3)
    lake.ship(run("r1", at=before), at=before)
    same("first", len(lake.compact()), 1)
    same("nothing new", lake.compact(), [])
    lake.ship(run("r2", at=before + datetime.timedelta(seconds=5)), at=before + datetime.timedelta(seconds=5))
    lake.ship(run("r3", at=NOW - datetime.timedelta(days=20)), at=NOW - datetime.timedelta(days=20))
    lines = lake.compact()
    same("note", lines[0], "not read, older than 7 days: 1 objects")
    same("late", int(number(lake.duckdb(), "runs")), 2)
    lake.compact(30)
    same("with more days", int(number(lake.duckdb(), "runs")), 3)


def an_empty_lake_answers_every_query(lake):
    same("lines", lake.compact(), [f"no objects below {lake.location}/rows"])
    for name, rows in lake.duckdb().results().items():
        same(name, rows, [])
    for name, rows in ClickHouse().results().items():
        same(name, rows, [])


def names_and_texts_arrive_unchanged(lake):
    texts = ["a\nb", 'a "quoted" word', "it's; -- \\ $$ {}", "ünï 😀", "nul \0 end", "", "\t,\r\n", "NULL", "x" * (16 << 20)]
    rows = []
    for place, text in enumerate(texts):
        rows.append(row("messages", host="_42", run="r1", revision=1, number=place, sender="a", text=text, automatic=False))
    lake.ship(rows + run("r1", host="_42"), host="_42")
    lake.ship(run("r2", host="null", store="00000000000000bb"), host="null")
    same("skipped", [line for line in lake.compact() if line.startswith("skipped")], [])
    for engine in lake.engines():
        prefix = "" if isinstance(engine, DuckDb) else "teamkeep."
        found = engine.rows(f"SELECT number, text FROM {prefix}messages ORDER BY number")
        same("texts", [one["text"] == text for one, text in zip(found, texts)], [True] * len(texts))
        same("hosts", sorted(one["host"] for one in engine.rows(f"SELECT host FROM {prefix}runs")), ["_42", "null"])


def an_interrupted_compaction_leaves_nothing_bad(lake):
    """Stops after each file that it writes, and checks what a reader sees; then a compaction completes the day."""
    before = NOW - datetime.timedelta(seconds=60)
    lake.ship(run("r1", revision=1, tasks=4, events=["e1"], at=before) + [host_row(at=before)], at=before)
    lake.compact()
    lake.ship(run("r1", revision=2, tasks=3, events=["e2"]) + run("r2", tasks=2) + [host_row()])
    docs = lake.scratch / "docs"
    (docs / "lake").mkdir(parents=True)
    original = Path(__file__).parents[3] / "docs" / "organization" / "lake"
    for path in original.iterdir():
        (docs / "lake" / path.name).write_bytes(path.read_bytes())
    merge = (original / "merge.sql").read_text()
    for files in range(1, len(TABLES) + 1):
        stopped = merge.replace("ORDER BY name = 'runs';", f"ORDER BY name = 'runs', name LIMIT {files};\nSELECT error('stopped') FROM columns;")
        assert stopped != merge
        (docs / "lake" / "merge.sql").write_text(stopped.replace(".read tables.sql", ".bail off\n.read tables.sql\n.bail on\nSELECT error('stopped');").replace("\nSELECT error('stopped') FROM columns;", ""))
        try:
            compact(lake.location, 7, lake.scratch, docs)
            raise AssertionError("was not stopped")
        except RuntimeError as error:
            assert "stopped" in str(error), error
        seen = [int(number(lake.duckdb(), table)) for table in ("runs", "tasks", "incidents")]
        same(f"after {files} files", seen, [2, 5, 2] if files == len(TABLES) else [1, 4, 1])
    lake.compact()
    for engine in lake.engines():
        same("in the end", [int(number(engine, table)) for table in ("runs", "tasks", "incidents", "events", "hosts")], [2, 5, 2, 2, 2])


def hosts_answer_who_is_silent_broken_outdated_or_altered(lake):
    old = NOW - datetime.timedelta(days=9)

    def state(host, store, at=NOW, **columns):
        usual = {"teamkeep_version": "0.9.0", "shipper_version": "0.9.0", "policy": "p1", "hooks": ["Stop", "PreToolUse"]}
        lake.ship([host_row(host=host, store=store, at=at, **{**usual, **columns})], host=host, at=at)

    state("m1", "aa", heads=["r1:10:0a"])
    state("m2", "bb", at=old)
    state("m3", "cc", hooks=["Stop"])
    state("m4", "dd", last_error="the certificate is not trusted", lost_bytes=5)
    state("m5", "ee", teamkeep_version="0.8.0")
    state("m6", "ff", policy="p2")
    # Two machines with one name have logs of one name; one log became shorter, one has another hash.
    state("m1", "ab", heads=["r1:9:0b", "session-s:3:01"])
    state("m1", "aa", at=NOW + datetime.timedelta(seconds=1), heads=["r1:12:0c"])
    state("m1", "aa", at=NOW + datetime.timedelta(seconds=2), heads=["r1:11:0d"])
    state("m1", "ab", at=NOW + datetime.timedelta(seconds=1), heads=["session-s:3:02"])
    lake.compact(30)
    for engine in lake.engines():
        results = engine.results()
        hosts = {name: [found["host"] for found in results[name]] for name in ("silent-hosts", "broken-hosts", "outdated-hosts")}
        same("hosts", hosts, {"silent-hosts": ["m2"], "broken-hosts": ["m3", "m4"], "outdated-hosts": ["m5", "m6"]})
        altered = [(found["store"], found["log"], found["lines"], found["lines_before"]) for found in results["altered-logs"]]
        same("altered logs", [tuple(map(str, one)) for one in altered], [("aa", "r1", "11", "12"), ("ab", "session-s", "3", "3")])
        same("heads to check", len(results["heads-to-check"]), 6)
        same("missing hooks", [found["missing_hooks"] for found in results["broken-hosts"]], ["PreToolUse", ""])


def each_part_of_a_shipment_has_its_heads(lake):
    for head, unreadable in [("r1:5:aa", 0), ("r2:7:bb", 9), ("r3:2:cc", 0)]:
        lake.ship([host_row(heads=[head], unreadable_bytes=unreadable)])
    lake.compact()
    for engine in lake.engines():
        same("heads", [found["newest_head"] for found in engine.results()["newest-heads"]], ["r1:5:aa", "r2:7:bb", "r3:2:cc"])
        same("stores", int(number(engine, "newest_hosts")), 1)
        same("unreadable bytes", int(number(engine, "newest_hosts", "max(unreadable_bytes)")), 9)


def deleted_data_stays_deleted(lake):
    lake.ship(run("r1", events=["e1"]) + run("r2", events=["e2"]) + [host_row(user_name="alice")])
    lake.ship(run("r3", store="00000000000000bb", events=["e3"]), name=f"rows/org=acme/date={NOW.date()}/host=m1/b.jsonl.gz")
    lake.compact()
    script("forget.sh", "run", "r1", lake=lake.location, scratch=lake.scratch)
    same("without a run", [int(number(lake.duckdb(), table)) for table in ("runs", "tasks", "events", "hosts")], [2, 4, 2, 1])
    script("forget.sh", "store", "00000000000000aa", lake=lake.location, scratch=lake.scratch)
    lake.ship(run("r4", store="00000000000000bb"), name=f"rows/org=acme/date={NOW.date()}/host=m1/c.jsonl.gz")
    lake.compact()
    same("without a store", [int(number(lake.duckdb(), table)) for table in ("runs", "tasks", "events", "hosts")], [2, 4, 1, 0])


ATTACKS = [
    a_bad_object_is_skipped_and_named,
    a_repeated_shipment_counts_once,
    a_resumed_run_counts_with_its_last_revision,
    a_late_object_is_found,
    an_empty_lake_answers_every_query,
    names_and_texts_arrive_unchanged,
    an_interrupted_compaction_leaves_nothing_bad,
    hosts_answer_who_is_silent_broken_outdated_or_altered,
    each_part_of_a_shipment_has_its_heads,
    deleted_data_stays_deleted,
]


def main():
    if "AWS_ENDPOINT_URL" in os.environ:
        request_object("PUT", "attacks")
    wanted = sys.argv[1:] or [attack.__name__ for attack in ATTACKS]
    failed = 0
    for attack in ATTACKS:
        if attack.__name__ in wanted:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    attack(Lake(scratch, attack.__name__))
                    print(f"ok: {attack.__name__}")
                except (AssertionError, RuntimeError) as error:
                    failed += 1
                    print(f"failed: {attack.__name__}: {error}")
    sys.exit(min(failed, 1))


main()
