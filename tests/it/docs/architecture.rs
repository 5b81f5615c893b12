//! Which module imports which. These tables are the architecture document: each module imports only those above it. That the
//! core crate imports nothing of the command line is held by the crate boundary.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::sandbox::below;

/// The modules of `core/src` and what each imports, leaves first.
const CORE: &[(&str, &[&str])] = &[
    ("client/json", &[]),
    ("error", &[]),
    ("sys/allocator", &[]),
    ("sys/clock", &[]),
    ("sys/fs", &[]),
    ("sys/parallel", &[]),
    ("sys/unicode", &[]),
    ("model", &["sys/clock"]),
    ("store/chain", &[]),
    ("store/packed", &["sys/fs"]),
    ("sys/diagnostics", &["sys/clock", "sys/fs", "sys/unicode"]),
    ("sys/env", &["error", "sys/clock"]),
    ("sys/signals", &[]),
    ("sys/process", &["sys/env", "sys/signals"]),
    ("sys/git", &["sys/process"]),
    ("sys/worktree", &["sys/fs", "sys/git", "sys/unicode"]),
    ("client/payload", &["client/json", "model"]),
    ("store/metadata_only", &["client/json", "model"]),
    ("sys/paths", &["error", "sys/env", "sys/fs"]),
    ("sys/store_lock", &["model", "sys/fs"]),
    ("client/compat", &["client/payload"]),
    ("client/response", &["client/payload"]),
    (
        "config",
        &[
            "client/payload",
            "error",
            "model",
            "sys/clock",
            "sys/env",
            "sys/fs",
            "sys/paths",
            "sys/store_lock",
        ],
    ),
    ("client/command", &["error", "sys/env"]),
    ("client/team", &["client/compat", "client/json", "model", "sys/clock", "sys/process", "sys/unicode"]),
    ("spending", &["client/team", "config", "sys/clock"]),
    (
        "store/log",
        &[
            "error",
            "model",
            "store/chain",
            "store/packed",
            "sys/clock",
            "sys/fs",
            "sys/parallel",
            "sys/paths",
        ],
    ),
    (
        "policy",
        &[
            "client/compat",
            "client/payload",
            "client/team",
            "config",
            "model",
            "spending",
            "sys/clock",
            "sys/unicode",
        ],
    ),
    ("store/access", &["client/command", "error", "sys/env", "sys/fs", "sys/paths"]),
    (
        "store/archive",
        &[
            "client/json",
            "client/team",
            "config",
            "error",
            "model",
            "store/chain",
            "store/metadata_only",
            "store/packed",
            "sys/clock",
            "sys/fs",
            "sys/process",
            "sys/store_lock",
        ],
    ),
    (
        "attribution",
        &[
            "client/compat",
            "client/json",
            "client/payload",
            "client/team",
            "model",
            "store/archive",
            "sys/clock",
            "sys/fs",
            "sys/process",
            "sys/store_lock",
        ],
    ),
    (
        "enforcement",
        &[
            "client/json",
            "client/payload",
            "client/team",
            "config",
            "model",
            "policy",
            "spending",
            "store/archive",
            "sys/clock",
            "sys/fs",
            "sys/git",
            "sys/process",
            "sys/store_lock",
            "sys/unicode",
        ],
    ),
    (
        "store/shipping",
        &[
            "config",
            "store/archive",
            "store/log",
            "sys/clock",
            "sys/fs",
            "sys/paths",
            "sys/process",
            "sys/store_lock",
        ],
    ),
    ("store/retention", &["config", "error", "store/archive", "store/log", "sys/fs"]),
    (
        "hook",
        &[
            "attribution",
            "client/compat",
            "client/payload",
            "client/command",
            "client/response",
            "client/team",
            "config",
            "enforcement",
            "error",
            "model",
            "policy",
            "store/access",
            "store/archive",
            "store/log",
            "store/metadata_only",
            "store/retention",
            "store/shipping",
            "sys/clock",
            "sys/diagnostics",
            "sys/env",
            "sys/fs",
            "sys/paths",
            "sys/process",
            "sys/signals",
            "sys/store_lock",
            "sys/unicode",
            "sys/worktree",
        ],
    ),
];

/// The modules of `src`; from the core crate, each can import everything.
const COMMAND_LINE: &[(&str, &[&str])] = &[
    // The hook program: it uses only the core.
    ("bin", &[]),
    ("backtest", &[]),
    ("demo", &[]),
    ("redact", &[]),
    ("transcript", &[]),
    ("timeline", &["transcript"]),
    ("ui", &[]),
    ("verify", &[]),
    ("bundle", &["redact", "timeline", "verify"]),
    ("context", &["ui"]),
    ("files", &["timeline", "transcript"]),
    ("former_names", &["ui"]),
    ("prune", &["timeline", "verify"]),
    ("report", &["files", "redact", "timeline"]),
    ("notify", &["redact", "report"]),
    ("restore", &["timeline"]),
    ("search", &["redact", "timeline", "transcript"]),
    ("settings", &["ui"]),
    ("status", &["report", "timeline"]),
    ("brief", &["status", "timeline"]),
    ("doctor", &["notify", "restore", "settings", "verify"]),
    (
        "view",
        &[
            "backtest", "brief", "doctor", "files", "report", "restore", "search", "status", "timeline",
            "ui", "verify",
        ],
    ),
    ("watch", &["report", "status", "timeline", "ui", "view"]),
    (
        "commands",
        &[
            "backtest", "brief", "bundle", "context", "demo", "doctor", "files", "notify", "prune", "redact",
            "report", "restore", "search", "settings", "status", "timeline", "ui", "verify", "view", "watch",
        ],
    ),
    ("cli", &["commands", "context", "former_names", "ui"]),
];

/// Folders whose folders are modules of their own in the tables.
const GROUPS: [&str; 3] = ["client", "store", "sys"];

/// The module of a path, split at `::` or `/`.
fn room<'a>(mut parts: impl Iterator<Item = &'a str>) -> String {
    let first = parts.next().unwrap_or_default().trim_end_matches(".rs");
    match parts.next().filter(|_| GROUPS.contains(&first)) {
        Some(second) => format!("{first}/{}", second.trim_end_matches(".rs")),
        None => first.to_owned(),
    }
}

/// What a source file imports from other modules, its tests and comments left out.
fn imports(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let path = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !['_', ':'].contains(&c));
        room(rest[..end.unwrap_or(rest.len())].split("::").filter(|part| !part.is_empty()))
    };
    let listed = |list: &str| list.split(',').map(|item| path(item.trim())).collect::<Vec<_>>();
    let after = code.split("crate::").skip(1);
    after
        .flat_map(|rest| match (rest.strip_prefix('{'), rest.split_once("::{")) {
            (Some(list), _) => listed(list.split('}').next().unwrap()),
            (None, Some((group, list))) if GROUPS.contains(&group) => {
                let items = list.split('}').next().unwrap().split(',');
                items.map(|item| path(&format!("{group}::{}", item.trim()))).collect()
            }
            _ => vec![path(rest)],
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// What each module of a crate really imports.
fn found(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in below(&source) {
        let inside = path.strip_prefix(&source).unwrap();
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        let is_test = path.to_str().unwrap().ends_with("tests.rs") || parts.contains(&"tests");
        let is_list = matches!(parts.as_slice(), ["lib.rs" | "main.rs"])
            || matches!(parts.as_slice(), [group, "mod.rs"] if GROUPS.contains(group));
        if path.extension().is_some_and(|kind| kind == "rs") && !is_test && !is_list {
            let room = room(parts.into_iter());
            let imports = imports(&std::fs::read_to_string(&path).unwrap());
            found.entry(room.clone()).or_default().extend(imports.into_iter().filter(|name| *name != room));
        }
    }
    found
}

#[test]
fn imports_run_one_way() {
    for rooms in [CORE, COMMAND_LINE] {
        for (place, (room, imports)) in rooms.iter().enumerate() {
            let above: Vec<&str> = rooms[..place].iter().map(|(room, _)| *room).collect();
            assert!(imports.iter().all(|import| above.contains(import)), "{room} imports a module below it");
        }
    }
}

#[test]
fn every_module_imports_what_the_table_says_and_nothing_else() {
    for (source, rooms) in [("core/src", CORE), ("src", COMMAND_LINE)] {
        let found = found(source);
        let table: BTreeMap<String, BTreeSet<String>> = rooms
            .iter()
            .map(|(room, imports)| {
                ((*room).to_owned(), imports.iter().map(|name| (*name).to_owned()).collect())
            })
            .collect();
        for (room, imports) in &found {
            assert_eq!(Some(imports), table.get(room), "{room}");
        }
        assert_eq!(found.keys().collect::<Vec<_>>(), table.keys().collect::<Vec<_>>());
    }
}

#[test]
fn imports_are_found_however_they_are_spelled() {
    let text = "//! [`crate::no`]\nuse crate::one::Two;\nuse crate::{three, four::Five};\nuse crate::sys::fs::{self, X};\nuse crate::store::{log, archive::Y};\nlet x = crate::six();\n#[cfg(test)]\nuse crate::no;";
    let found: Vec<String> = imports(text).into_iter().collect();
    assert_eq!(found, ["four", "one", "six", "store/archive", "store/log", "sys/fs", "three"]);
}
