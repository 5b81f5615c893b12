//! The pages about the shipped tables that are generated from the program.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use teamkeep_ship::rows::{Common, descriptions};

/// How the page is written again.
const COMMAND: &str = "TEAMKEEP_GENERATE=1 cargo test --locked -p teamkeep-ship --test docs";

/// The types of the documentation, their JSON, and the types of the engines for them.
const TYPES: [[&str; 4]; 6] = [
    ["string", "string", "`VARCHAR`", "`Nullable(String)`"],
    ["int64", "number", "`BIGINT`", "`Nullable(Int64)`"],
    ["double", "number", "`DOUBLE`", "`Nullable(Float64)`"],
    ["boolean", "`true` or `false`", "`BOOLEAN`", "`Nullable(Bool)`"],
    [
        "timestamp",
        "string, such as `2026-11-20T12:00:00.000Z`",
        "`TIMESTAMP WITH TIME ZONE`",
        "`Nullable(DateTime64(3, 'UTC'))`",
    ],
    ["list of strings", "array, never left out", "`VARCHAR[]`", "`Array(String)`"],
];

/// The number of columns that all tables about runs have.
const RUN_COLUMNS: usize = 3;

fn table<'a>(columns: impl IntoIterator<Item = &'a [&'static str; 3]>) -> String {
    let mut text = "| Column | Type | Meaning |\n|---|---|---|\n".to_owned();
    for [name, kind, about] in columns {
        let _ = writeln!(text, "| `{name}` | `{kind}` | {about} |");
    }
    text
}

/// The page with its generated tables, between two markers.
fn tables(page: &str) -> String {
    let [begin, end] = ["<!-- begin tables -->\n", "<!-- end tables -->\n"];
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let mut page = format!("{before}{begin}| Type | JSON | DuckDB | ClickHouse |\n|---|---|---|---|\n");
    for [name, json, duckdb, clickhouse] in TYPES {
        let _ = writeln!(page, "| `{name}` | {json} | {duckdb} | {clickhouse} |");
    }
    page += "\n## Columns of all tables\n\nEvery row begins with them.\n\n";
    page += &table(&Common::COLUMNS);
    let of_runs: Vec<[&str; 3]> = descriptions()[0].columns[..RUN_COLUMNS].to_vec();
    page +=
        "\n## Columns of the tables about runs\n\nThese follow in all tables but `events` and `hosts`.\n\n";
    page += &table(&of_runs);
    for one in descriptions() {
        let own = if one.columns.starts_with(&of_runs) { &one.columns[RUN_COLUMNS..] } else { &one.columns };
        let _ = write!(page, "\n## `{}`\n\nA row is {}.\n\n{}", one.name, one.row, table(own));
    }
    page + end + after
}

#[test]
fn the_page_about_the_tables_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/organization/tables.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let expected = tables(&page);
    if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(page == expected, "docs/organization/tables.md is stale: {COMMAND}");
}

#[test]
fn a_name_of_a_column_has_one_type_in_all_tables_and_is_there_once() {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    for one in descriptions() {
        let mut names: Vec<&str> = Vec::new();
        for [name, kind, about] in Common::COLUMNS.into_iter().chain(one.columns) {
            assert!(!about.is_empty() && !names.contains(&name), "{}.{name}", one.name);
            assert!(TYPES.iter().any(|row| row[0] == kind), "{}.{name}: {kind}", one.name);
            assert_eq!(*types.entry(name).or_insert(kind), kind, "{}.{name}", one.name);
            names.push(name);
        }
    }
    assert!(types.len() > 80, "{types:?}");
}

#[test]
fn no_name_of_a_column_is_reserved_in_a_dialect_of_sql_but_those_of_all_tables() {
    // Reserved in SQL:2023, and in PostgreSQL, Redshift, Athena, BigQuery, DuckDB or Snowflake: without quotes they are errors, or
    // the name of the querying user. `time`, `type`, `line` and `text` are not reserved in these.
    let reserved = "all and any array as at between both by case cast check column constraint create cross current cube \
        date default delete desc describe distinct drop else end escape except exists extract false fetch filter for foreign from \
        full grant group having hash if in inner insert intersect interval into is join lateral leading left like limit \
        lookup merge natural new no not null of offset on or order outer over partition primary range recursive references \
        respect right rollup row rows sample schema select set show similar some start table tablesample then to top trailing \
        true union unique unnest update user using value values view when where window with within without";
    for one in descriptions() {
        for [name, ..] in one.columns {
            assert!(reserved.split_whitespace().all(|word| word != name), "{}.{name}", one.name);
        }
    }
}

/// The columns of a table in a file with SQL, each with its type.
fn declared(sql: &str, table: &str) -> BTreeSet<String> {
    let begin = format!("{table} (\n");
    let (_, rest) = sql.split_once(&begin).unwrap_or_else(|| panic!("no table {table}"));
    let (columns, _) = rest.split_once("\n)").unwrap();
    let flat =
        columns.split_whitespace().collect::<Vec<_>>().join(" ").replace("DateTime64(3, 'UTC')", "Time");
    flat.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_tables_of_the_lake_have_every_column_with_its_type() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/organization/lake");
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    let (duckdb, clickhouse) = (read("tables.sql"), read("clickhouse.sql"));
    let arriving = declared(&clickhouse, "teamkeep.arriving");
    let arriving: BTreeSet<&str> =
        arriving.iter().filter_map(|column| column.split_whitespace().next()).collect();
    for one in descriptions() {
        let columns: Vec<[&str; 3]> = Common::COLUMNS.into_iter().skip(1).chain(one.columns).collect();
        let expected = columns.iter().map(|[name, kind, _]| match (*name, *kind) {
            ("day", _) => "day DATE".to_owned(),
            (_, "string") => format!("{name} VARCHAR"),
            (_, "int64") => format!("{name} BIGINT"),
            (_, "double") => format!("{name} DOUBLE"),
            (_, "boolean") => format!("{name} BOOLEAN"),
            (_, "timestamp") => format!("{name} TIMESTAMPTZ"),
            _ => format!("{name} VARCHAR[]"),
        });
        assert_eq!(
            declared(&duckdb, &format!("CREATE TABLE {}", one.name)),
            expected.collect(),
            "{}",
            one.name
        );
        let rows = declared(&clickhouse, &format!("teamkeep.{}_rows", one.name));
        for [name, kind, _] in &columns {
            assert!(arriving.contains(name), "{name} does not arrive in ClickHouse");
            let of_kind = match *kind {
                "int64" => "Int64",
                "double" => "Float64",
                "boolean" => "Bool",
                "timestamp" => "Time",
                "list of strings" => "Array(String)",
                _ if *name == "day" => "Date",
                _ => "String",
            };
            let is_declared =
                |column: &String| column.starts_with(&format!("{name} ")) && column.contains(of_kind);
            assert!(rows.iter().any(is_declared), "{}.{name} {of_kind}: {rows:?}", one.name);
        }
    }
}
