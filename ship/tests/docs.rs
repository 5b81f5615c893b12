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

/// The page with its generated tables, between two markers.
fn tables(page: &str) -> String {
    let [begin, end] = ["<!-- begin tables -->\n", "<!-- end tables -->\n"];
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let mut page = format!("{before}{begin}");
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
    page + end + after
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
    let page = std::fs::read_to_string(root.join("tables.md")).unwrap();
    for (path, text) in [("tables.md", tables(&page)), ("queries/trino-tables.sql", trino_tables())] {
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
