//! The reference pages that are generated from the program: `TEAMKEEP_GENERATE=1 cargo test --test it docs`
//! writes them.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use teamkeep_config::project::ProjectRule;
use teamkeep_config::schema::{keys, schema};
use teamkeep_config::{Code, ProblemSeverity};
use teamkeep_system::env::VARIABLES;
use teamkeep_system::error::EXIT_CODES;

use super::commands_reference;

/// The page whose tables of checks and messages are generated.
const TROUBLESHOOTING: &str = "docs/help/troubleshooting.md";

/// Each generated page: its path and its text.
fn pages() -> [(&'static str, String); 4] {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(TROUBLESHOOTING)).unwrap();
    let page = with_table(&page, "checks", &checks());
    let page = with_table(&page, "diagnostics", &diagnostics());
    [
        ("docs/reference/commands.md", commands_reference::page()),
        ("docs/reference/configuration.md", configuration()),
        (TROUBLESHOOTING, page),
        ("docs/teamkeep.schema.json", format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap())),
    ]
}

/// A page with this table between the markers of its name.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->\n"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}{table}{end}{after}")
}

/// The line that says where a page comes from.
pub fn notice(title: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated from the program by `TEAMKEEP_GENERATE=1 cargo test --test it docs`. -->\n\n"
    )
}

/// The type of a value, as a user writes it.
fn written(schema: &Value) -> String {
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| words.len() < 20) {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    match (schema["type"].as_str(), &schema["items"]) {
        (Some("boolean"), _) => "`true` or `false`".to_owned(),
        (Some("integer"), _) => format!("integer, {} or more", schema["minimum"]),
        (Some("array"), item) => match written(item).as_str() {
            kind @ ("string" | "glob" | "hook event") => format!("list of {kind}s"),
            words => format!("list of {words}"),
        },
        (kind, _) => kind.unwrap_or("hook event").to_owned(),
    }
}

/// What a project's file can do with a key.
fn project(path: &str) -> &'static str {
    match ProjectRule::of(path) {
        ProjectRule::Never => "",
        ProjectRule::Stricter => " Project file: only stricter.",
        ProjectRule::Smaller => " Project file: only smaller.",
        ProjectRule::Fewer => " Project file: only fewer.",
        ProjectRule::Narrower => " Project file: only narrower.",
        ProjectRule::Added => " Project file: yes, after `policy trust`.",
    }
}

fn configuration() -> String {
    let mut page = notice("Configuration");
    page += "The configuration file is optional. `teamkeep config path` prints its location, `teamkeep config init` writes a \
             file to edit, and `teamkeep config check` validates it.\n\n\
             - Durations are written `\"90d\"`, `\"1m30s\"` or `\"250ms\"`.\n\
             - Sizes are written `\"16 MiB\"`, `\"512 KiB\"` or `\"2 GB\"`.\n\
             - A project's `.claude/teamkeep.toml` can set only the keys with a note on *project file*. \
             [Policy](policy.md) explains the gates and rules.\n\n\
             For completion in an editor, use the [JSON Schema](../teamkeep.schema.json): write `teamkeep config schema` to \
             `teamkeep.schema.json` beside the file, and begin the file with `#:schema ./teamkeep.schema.json`.\n";
    let mut last = String::new();
    for key in keys() {
        let (table, name) = key.path.rsplit_once('.').unwrap();
        if table != last {
            let heading = match table.strip_suffix("[]") {
                Some(list) => format!("[[{list}]]"),
                None => format!("[{table}]"),
            };
            let _ = write!(page, "\n## `{heading}`\n\n");
            last = table.to_owned();
        }
        let default = key.default().map_or("required".to_owned(), |default| {
            format!("default `{}`", default.to_string().replace("\",\"", "\", \""))
        });
        let _ = writeln!(
            page,
            "- **`{name}`** ({}, {default}): {}{}",
            written(&key.schema),
            key.description(),
            project(&key.path)
        );
    }
    page + &environment() + &exit_codes()
}

fn diagnostics() -> String {
    let mut table = "| Code | Severity | Meaning |\n|---|---|---|\n".to_owned();
    for code in Code::ALL {
        let severity = if code.severity() == ProblemSeverity::Error { "error" } else { "warning" };
        let _ = writeln!(table, "| `{}` | {severity} | {} |", code.name(), code.about());
    }
    table
}

fn checks() -> String {
    let mut table = "| Check | Passes if |\n|---|---|\n".to_owned();
    for code in teamkeep::doctor::DoctorCheck::ALL {
        let _ = writeln!(table, "| `{}` | {} |", code.name(), code.about());
    }
    table
}

/// The variables that users set. The others are for tests and for completion scripts.
fn environment() -> String {
    let mut part = "\n## Environment variables\n\nAn empty variable counts as unset.\n\n| Variable | Meaning |\n|---|---|\n".to_owned();
    for (name, about) in VARIABLES {
        if !["TEAMKEEP_COMPLETE", "TEAMKEEP_NOW"].contains(name) {
            let _ = writeln!(part, "| `{name}` | {about} |");
        }
    }
    part
}

fn exit_codes() -> String {
    let mut part = "\n## Exit codes\n\n| Code | Meaning |\n|---|---|\n".to_owned();
    for (code, meaning) in EXIT_CODES {
        let _ = writeln!(part, "| {code} | {meaning} |");
    }
    part + "\n`restore` and `prune` without `--yes` change nothing. They exit with 0, but `prune` in a pipe without `--dry-run` with \
            1. `teamkeep hook` never fails a session: if it cannot record an event, it exits with 1 and prints one line on stderr.\n"
}

#[test]
fn generated_pages_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in pages() {
        if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
            std::fs::write(root.join(path), &text).unwrap();
        }
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == text, "{path} is stale: TEAMKEEP_GENERATE=1 cargo test --test it docs");
    }
}
