//! The pages about the shipped tables that are generated from the program.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::path::Path;

use teamkeep_ship::tables::{Description, Table, TableVisitor, each_table};

/// How the pages are written again.
const COMMAND: &str = "TEAMKEEP_GENERATE=1 cargo test --locked -p teamkeep-ship --test docs";

/// The types of the documentation, and those that the engines show for them.
const TYPES: [[&str; 5]; 6] = [
    ["`string`", "UTF-8", "`VARCHAR`", "`Nullable(String)`", "`varchar`"],
    ["`int64`", "", "`BIGINT`", "`Nullable(Int64)`", "`bigint`"],
    ["`double`", "", "`DOUBLE`", "`Nullable(Float64)`", "`double`"],
    ["`boolean`", "", "`BOOLEAN`", "`Nullable(Bool)`", "`boolean`"],
    [
        "`timestamp`",
        "milliseconds, UTC",
        "`TIMESTAMP WITH TIME ZONE`",
        "`Nullable(DateTime64(3, 'UTC'))`",
        "`timestamp(3)`",
    ],
    ["`list of strings`", "never null", "`VARCHAR[]`", "`Array(Nullable(String))`", "`array(varchar)`"],
];

const INTRODUCTION: &str = "\
The tables that teamkeep ships to an object store ([ship recorded data](ship.md)), as Apache Parquet files with Snappy compression. \
[Queries](queries.md) has views and queries for them.

## Objects

| Object | Content |
|---|---|
| `TABLE/org=ORG/date=DAY/host=HOST/RUN-REVISION.parquet` | the rows of a run in one table; `DAY` is the day on which the run started |
| `events/org=ORG/date=DAY/host=HOST/SEGMENT-PART.parquet` | the lines of a closed segment of the log; `DAY` is the day on which the segment was created. `PART` counts from 0: a new part begins after 32 MiB |
| `heads/org=ORG/date=DAY/host=HOST/LINES-HASH.parquet` | the head of the log's hash chain when data was shipped; `DAY` is the day of its last line |
| `TABLE/org=ORG/date=1970-01-01/host=HOST/no-rows.parquet` | the columns and no rows, so that a query finds each table before it has rows |
| `bundles/org=ORG/date=DAY/host=HOST/RUN-REVISION.teamkeep` | the whole run as a bundle, if `ship.bundles` is true; `teamkeep import` reads it |

- All days are in UTC.
- Objects are created once. They are never changed, and teamkeep never lists or deletes them.
- A run has no object in a table in which it has no rows. Its object in `runs` is written last: a run that is in `runs` is \
complete in the other tables.
- A changed configuration, such as another privacy level, applies only to data that is sent afterwards.

## Partitions

`org`, `date` and `host` are columns of every table, with values from the names of the objects (Hive partitions).

| Column | Type | Meaning |
|---|---|---|
| `org` | `string` | `ship.organization` |
| `date` | date | the day in the object's name |
| `host` | `string` | `ship.host` or the system's name, or a pseudonym |

Other characters than ASCII letters, digits, `.`, `_` and `-` are replaced by `-`. A name like a number, a date, `true` or `null` gets \
`_` in front: `42` becomes `_42`. Otherwise, engines would guess another type.

## Revisions

A run that is resumed ends again, and is sent again. Its rows have the time of the end as `revision`, and the highest revision of a run \
counts. A row of another table counts if `org`, `date`, `host`, `run` and `revision` are those of a row in `runs` that counts. The \
[views](queries.md#views) select these rows.

`events` and `heads` have no revisions.

## Stability

Columns are only added. A column keeps its name, its type and its meaning. Older objects lack newer columns: read the \
objects by the names of columns, with null for missing ones.

## Types

Every column can be null, except lists. In these tables, `usd` means US dollars and `ms` milliseconds. `input_tokens` excludes cached \
tokens, which the attribute `gen_ai.usage.input_tokens` of [OpenTelemetry](opentelemetry.md#the-trace) includes.

";

#[derive(Default)]
struct Descriptions(Vec<Description>);

impl TableVisitor for Descriptions {
    type Error = Infallible;

    fn visit<R>(&mut self, table: &Table<R>) -> Result<(), Infallible> {
        self.0.push(table.description());
        Ok(())
    }
}

fn descriptions() -> Vec<Description> {
    let mut all = Descriptions::default();
    let Ok(()) = each_table(&mut all);
    all.0
}

fn tables() -> String {
    let mut page =
        format!("# Tables\n\n<!-- Generated from the program by `{COMMAND}`. -->\n\n{INTRODUCTION}");
    page += "| Type | | DuckDB | ClickHouse | Trino |\n|---|---|---|---|---|\n";
    for row in TYPES {
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
    for table in descriptions() {
        let _ = write!(page, "\n## `{}`\n\nA row is {}.\n\n", table.name, table.row);
        page += "| Column | Type | Meaning |\n|---|---|---|\n";
        for [name, kind, about] in table.columns {
            let _ = writeln!(page, "| `{name}` | `{kind}` | {about} |");
        }
    }
    page
}

fn trino_type(kind: &str) -> &'static str {
    let row = TYPES.iter().find(|row| row[0].trim_matches('`') == kind);
    row.unwrap_or_else(|| panic!("no type {kind}"))[4].trim_matches('`')
}

/// The tables as Trino's Hive connector declares them.
fn trino_tables() -> String {
    let mut text = format!(
        "-- Tables for Trino's Hive connector. Generated from the program by\n--   {COMMAND}\n\
         -- Replace s3://BUCKET/PREFIX by the location of the tables.\n\n\
         CREATE SCHEMA IF NOT EXISTS hive.teamkeep;\n"
    );
    let mut partitions = String::new();
    for table in descriptions() {
        let has_revisions = table.columns.iter().any(|[name, ..]| *name == "revision");
        let name = format!("{}{}", if has_revisions { "all_" } else { "" }, table.name);
        let _ = write!(text, "\nCREATE TABLE IF NOT EXISTS hive.teamkeep.{name} (\n");
        for [column, kind, _] in &table.columns {
            let _ = writeln!(text, "  \"{column}\" {},", trino_type(kind));
        }
        let _ = write!(
            text,
            "  \"org\" varchar,\n  \"date\" date,\n  \"host\" varchar\n) WITH (\n  external_location = \
             's3://BUCKET/PREFIX/{}',\n  format = 'PARQUET',\n  partitioned_by = ARRAY['org', 'date', 'host']\n);\n",
            table.name
        );
        let _ =
            writeln!(partitions, "CALL hive.system.sync_partition_metadata('teamkeep', '{name}', 'FULL');");
    }
    text + "\n-- Run these again to find the partitions of new days and hosts.\n" + &partitions
}

#[test]
fn generated_pages_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/organization");
    for (path, text) in [("tables.md", tables()), ("queries/trino-tables.sql", trino_tables())] {
        if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
            std::fs::write(root.join(path), &text).unwrap();
        }
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == text, "docs/organization/{path} is stale: {COMMAND}");
    }
}

#[test]
fn every_column_has_a_meaning_and_no_name_that_a_dialect_of_sql_reserves() {
    // Reserved in PostgreSQL, Redshift or Athena: without quotes they are errors, or the name of the querying user.
    let reserved =
        ["user", "at", "of", "order", "group", "table", "column", "end", "from", "to", "limit", "interval"];
    for table in descriptions() {
        for [name, _, about] in table.columns {
            assert!(!about.is_empty(), "{}.{name}", table.name);
            assert!(!reserved.contains(&name), "{}.{name}", table.name);
            assert!(!["org", "date", "host"].contains(&name), "{}.{name} is a partition", table.name);
        }
    }
}
