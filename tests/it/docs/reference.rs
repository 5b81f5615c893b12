//! The reference pages that are generated from the program: `TEAMKEEP_GENERATE=1 cargo test --test it docs`
//! writes them.

use std::fmt::Write as _;
use std::path::Path;

use teamkeep_core::config::keys::{KEYS, Key, Kind, Project};
use teamkeep_core::config::schema;
use teamkeep_core::config::{Code, Severity};
use teamkeep_core::error::EXIT_CODES;
use teamkeep_core::sys::env::VARIABLES;

use super::commands_reference;

/// Each generated page: its path and its text.
fn pages() -> [(&'static str, String); 6] {
    [
        ("docs/reference/commands.md", commands_reference::page()),
        ("docs/reference/configuration.md", configuration()),
        ("docs/reference/diagnostics.md", diagnostics()),
        ("docs/reference/environment.md", environment()),
        ("docs/reference/exit-codes.md", exit_codes()),
        ("docs/teamkeep.schema.json", format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap())),
    ]
}

/// The line that says where a page comes from.
pub fn notice(title: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated from the program by `TEAMKEEP_GENERATE=1 cargo test --test it docs`. -->\n\n"
    )
}

/// The type of a key's value, as a user writes it.
fn written(kind: Kind) -> String {
    let one_of =
        |words: &[&str]| words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Switch => "`true` or `false`".to_owned(),
        Kind::Count => "integer, 0 or more".to_owned(),
        Kind::Times => "integer, 1 or more".to_owned(),
        Kind::Size => "size".to_owned(),
        Kind::Duration => "duration".to_owned(),
        Kind::Words(words) => one_of(words),
        Kind::Percent => "percentage, or `\"never\"`".to_owned(),
        Kind::Price => "number, 0 or more".to_owned(),
        Kind::Text => "string".to_owned(),
        Kind::Names => "list of strings".to_owned(),
        Kind::Glob => "glob".to_owned(),
        Kind::Globs => "list of globs".to_owned(),
        Kind::Events => "list of hook events".to_owned(),
        Kind::Patterns => "table: JSON pointer = glob or `\"/regex/\"`".to_owned(),
        Kind::Picks(words) => format!("list of {}", one_of(words)),
        Kind::Regex => "regular expression".to_owned(),
    }
}

/// What a project's file can do with a key.
fn project(key: &Key) -> &'static str {
    match key.project {
        Project::Never | Project::UserStricter => "",
        Project::Stricter => " Project file: only stricter.",
        Project::Smaller => " Project file: only smaller.",
        Project::Fewer => " Project file: only fewer.",
        Project::Narrower => " Project file: only narrower.",
        Project::Added => " Project file: yes, after `policy trust`.",
    }
}

fn configuration() -> String {
    let mut page = notice("Configuration");
    page += "The configuration file is optional. `teamkeep config path` prints its location, `teamkeep config init` writes a \
             file with every default, and `teamkeep config check` validates it.\n\n\
             - Durations are written `\"90d\"`, `\"1m30s\"` or `\"250ms\"`.\n\
             - Sizes are written `\"16 MiB\"`, `\"512 KiB\"` or `\"2 GB\"`.\n\
             - A project's `.claude/teamkeep.toml` can set only the keys with a note on *project file*. \
             [Policy](../policy.md) explains the gates and rules.\n\n\
             For completion in an editor, use the [JSON Schema](../teamkeep.schema.json): write `teamkeep config schema` to \
             `teamkeep.schema.json` beside the file, and begin the file with `#:schema ./teamkeep.schema.json`.\n";
    let mut last = "";
    for key in KEYS {
        let (table, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        if table != last {
            let heading = match table.strip_suffix("[]") {
                Some(list) => format!("[[{list}]]"),
                None => format!("[{table}]"),
            };
            let _ = write!(page, "\n## `{heading}`\n\n");
            last = table;
        }
        let default = key.default.map_or("required".to_owned(), |default| format!("default `{default}`"));
        let _ = writeln!(
            page,
            "- **`{name}`** ({}, {default}): {}{}",
            written(key.kind),
            key.doc(),
            project(key)
        );
    }
    page
}

fn diagnostics() -> String {
    let mut page = notice("Diagnostics");
    page += "The codes are stable. Scripts can rely on them.\n\n\
             ## Configuration and policy\n\n\
             `teamkeep config check` and `teamkeep config check` report these. A file with an error is not used; a warning affects only \
             the key or rule that it names.\n\n\
             | Code | Severity | Meaning |\n|---|---|---|\n";
    for code in Code::ALL {
        let severity = if code.severity() == Severity::Error { "error" } else { "warning" };
        let _ = writeln!(page, "| `{}` | {severity} | {} |", code.name(), code.about());
    }
    page += "\n## doctor\n\n`teamkeep doctor` runs these checks. [doctor](../doctor.md) has the details.\n\n\
             | Check | Passes when |\n|---|---|\n";
    for code in teamkeep::doctor::Code::ALL {
        let _ = writeln!(page, "| `{}` | {} |", code.name(), code.about());
    }
    page += "\n## Other codes\n\n\
             - [Observations in a report](../report.md#observations), such as `never-reported`.\n\
             - [Damage that `teamkeep verify` finds](../formats.md#verify---json), such as `missing-object`.\n";
    page
}

fn environment() -> String {
    let mut page = notice("Environment variables");
    page += "An empty variable counts as unset.\n\n| Variable | Meaning |\n|---|---|\n";
    for (name, about) in VARIABLES {
        let _ = writeln!(page, "| `{}` | {} |", name, about);
    }
    page
}

fn exit_codes() -> String {
    let mut page = notice("Exit codes");
    page += "| Code | Meaning |\n|---|---|\n";
    for (code, meaning) in EXIT_CODES {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page += "\n- `restore --tasks` and `prune` without `--yes` change nothing. On a terminal, or with `--dry-run`, they exit with 0. \
             In a pipe they exit with 1, so that a script notices.\n\
             - `teamkeep hook` never fails a session. If it cannot record an event, it exits with 1 and prints one line on stderr; \
             Claude Code shows the line and continues.\n";
    page
}

#[test]
fn generated_pages_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in pages() {
        if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), &text).unwrap();
        }
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == text, "{path} is stale: TEAMKEEP_GENERATE=1 cargo test --test it docs");
    }
}
