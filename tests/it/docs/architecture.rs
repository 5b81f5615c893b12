//! Which room may know which. This table is the architecture document: each room knows only those above it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::sandbox::below;

/// Each room and what it imports, leaf rooms first.
const ROOMS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("clock", &[]),
    ("env", &["clock", "error"]),
    ("suggest", &["error"]),
    ("fs", &[]),
    ("json", &[]),
    ("process", &[]),
    ("unicode", &[]),
    ("model", &[]),
    ("metadata_only", &["json", "model"]),
    ("payload", &["json", "model"]),
    ("client", &["model", "payload"]),
    ("team", &["client", "json", "model", "unicode"]),
    ("ui", &["error", "unicode"]),
    ("panics", &["unicode"]),
    ("paths", &["env", "error", "fs"]),
    ("config", &["clock", "env", "error", "fs", "model", "paths", "payload", "suggest"]),
    ("redact", &["config", "error"]),
    ("diagnostics", &["clock", "fs", "unicode"]),
    ("context", &["clock", "config", "env", "error", "paths", "ui"]),
    ("settings", &["config", "env", "error", "fs", "paths", "payload", "process", "ui"]),
    ("event", &["clock"]),
    ("log", &["clock", "config", "error", "event", "fs", "model"]),
    ("archive", &["clock", "config", "error", "event", "fs", "json", "metadata_only", "model", "team"]),
    ("retention", &["archive", "clock", "config", "error", "fs", "log"]),
    ("policy", &["client", "model", "clock", "config", "event", "json", "payload", "team", "unicode"]),
    (
        "enforcement",
        &["archive", "clock", "config", "event", "fs", "json", "payload", "policy", "process", "unicode"],
    ),
    (
        "attribution",
        &["model", "archive", "client", "clock", "event", "fs", "json", "payload", "process", "team"],
    ),
    ("response", &["payload"]),
    (
        "hook",
        &[
            "archive",
            "client",
            "attribution",
            "clock",
            "config",
            "diagnostics",
            "enforcement",
            "env",
            "error",
            "event",
            "fs",
            "log",
            "metadata_only",
            "model",
            "panics",
            "paths",
            "payload",
            "policy",
            "process",
            "response",
            "retention",
            "settings",
            "team",
            "unicode",
        ],
    ),
    (
        "timeline",
        &[
            "model", "archive", "clock", "error", "event", "fs", "json", "log", "suggest", "payload",
            "policy", "process", "team", "unicode",
        ],
    ),
    ("verify", &["archive", "clock", "error", "event", "fs", "log"]),
    ("prune", &["archive", "clock", "config", "error", "fs", "log", "retention", "timeline", "verify"]),
    ("bundle", &["archive", "clock", "error", "event", "fs", "log", "redact", "timeline"]),
    (
        "report",
        &[
            "model",
            "clock",
            "config",
            "event",
            "json",
            "payload",
            "policy",
            "redact",
            "team",
            "timeline",
            "metadata_only",
        ],
    ),
    ("status", &["model", "archive", "clock", "enforcement", "event", "fs", "log", "policy", "timeline"]),
    ("backtest", &["archive", "clock", "config", "enforcement", "event", "log", "payload", "policy", "team"]),
    (
        "restore",
        &["model", "archive", "clock", "error", "event", "fs", "json", "process", "team", "timeline"],
    ),
    (
        "doctor",
        &[
            "archive", "clock", "config", "env", "error", "event", "fs", "log", "paths", "payload",
            "process", "restore", "settings", "team", "verify",
        ],
    ),
    (
        "view",
        &[
            "model",
            "backtest",
            "clock",
            "config",
            "doctor",
            "event",
            "enforcement",
            "json",
            "payload",
            "policy",
            "report",
            "restore",
            "status",
            "team",
            "timeline",
            "ui",
            "verify",
        ],
    ),
    ("demo", &["clock", "config", "env", "error", "fs", "hook", "paths", "payload", "team"]),
    (
        "commands",
        &[
            "model",
            "archive",
            "backtest",
            "bundle",
            "clock",
            "config",
            "context",
            "demo",
            "diagnostics",
            "doctor",
            "env",
            "error",
            "event",
            "fs",
            "enforcement",
            "attribution",
            "log",
            "suggest",
            "paths",
            "payload",
            "policy",
            "prune",
            "hook",
            "redact",
            "view",
            "report",
            "response",
            "restore",
            "retention",
            "settings",
            "status",
            "team",
            "timeline",
            "ui",
            "unicode",
            "verify",
        ],
    ),
    ("cli", &["clock", "commands", "context", "env", "error", "ui"]),
];

/// What a source file imports from other rooms, its tests and comments left out.
fn imports(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let name =
        |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap().to_owned();
    let after = code.split("crate::").skip(1);
    after
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(',').map(|item| name(item.trim())).collect(),
            None => vec![name(rest)],
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// What each room of the source really imports.
fn found() -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in below(&source) {
        let inside = path.strip_prefix(&source).unwrap();
        let is_test = path.ends_with("tests.rs") || inside.iter().any(|part| part == "tests");
        let is_code = path.extension().is_some_and(|kind| kind == "rs") && !is_test;
        let room = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if is_code && !["lib", "main"].contains(&room.as_str()) {
            let known = found.entry(room.clone()).or_default();
            known.extend(
                imports(&std::fs::read_to_string(&path).unwrap()).into_iter().filter(|name| *name != room),
            );
        }
    }
    found
}

#[test]
fn imports_run_one_way() {
    for (place, (room, imports)) in ROOMS.iter().enumerate() {
        let above: Vec<&str> = ROOMS[..place].iter().map(|(room, _)| *room).collect();
        assert!(imports.iter().all(|import| above.contains(import)), "{room} knows a room below it");
    }
}

#[test]
fn every_room_imports_what_the_table_says_and_nothing_else() {
    let found = found();
    let table: BTreeMap<String, BTreeSet<String>> = ROOMS
        .iter()
        .map(|(room, imports)| ((*room).to_owned(), imports.iter().map(|name| (*name).to_owned()).collect()))
        .collect();
    for (room, imports) in &found {
        assert_eq!(Some(imports), table.get(room), "{room}");
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), table.keys().collect::<Vec<_>>());
}

#[test]
fn imports_are_found_however_they_are_spelled() {
    let text = "//! [`crate::no`]\nuse crate::one::Two;\nuse crate::{three, four::Five};\nlet x = crate::six();\n#[cfg(test)]\nuse crate::no;";
    assert_eq!(imports(text).into_iter().collect::<Vec<_>>(), ["four", "one", "six", "three"]);
}
