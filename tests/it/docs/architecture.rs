//! Which crate uses which, and which module of the command line imports which. These tables are the architecture document: each
//! imports only those above it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::sandbox::below;

/// The crates, and which of them each uses besides those of other projects. A hook call loads `hook` and those above it.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/model", &[]),
    ("crates/system", &["model"]),
    ("crates/config", &["model", "system"]),
    ("crates/store", &["model", "system", "config"]),
    ("crates/policy", &["model", "config"]),
    ("crates/hook", &["model", "system", "config", "store", "policy"]),
    ("crates/redact", &["system", "config"]),
    ("crates/history", &["model", "system", "config", "store", "policy", "redact"]),
    ("crates/settings", &["model", "system", "config"]),
    ("crates/terminal", &["model", "system", "config", "store"]),
    ("ship", &["model", "system", "config", "store", "policy", "redact", "history", "settings", "terminal"]),
];

/// The modules of the history; from the crates above it, each can import everything.
const HISTORY: &[(&str, &[&str])] = &[
    ("parallel", &[]),
    ("reader", &["parallel"]),
    ("follow", &[]),
    ("transcript", &[]),
    ("timeline", &["parallel", "reader", "transcript"]),
    ("files", &["timeline", "transcript"]),
    ("report", &["files", "timeline"]),
    ("search", &["parallel", "reader", "timeline", "transcript"]),
];

/// The modules of `src`; from the crates, each can import everything.
const COMMAND_LINE: &[(&str, &[&str])] = &[
    // The hook program.
    ("bin", &[]),
    ("backtest", &[]),
    ("demo", &[]),
    ("usage", &[]),
    ("verify", &[]),
    ("bundle", &["verify"]),
    ("prune", &["verify"]),
    ("notify", &[]),
    ("restore", &[]),
    ("status", &[]),
    ("brief", &["status"]),
    ("doctor", &["notify", "restore", "verify"]),
    ("view", &["backtest", "brief", "doctor", "restore", "status", "verify"]),
    ("watch", &["status", "view"]),
    (
        "commands",
        &[
            "backtest", "brief", "bundle", "demo", "doctor", "notify", "prune", "restore", "status",
            "verify", "view", "watch",
        ],
    ),
    ("cli", &["commands", "usage"]),
];

/// The module of a path, split at `::` or `/`.
fn room<'a>(mut parts: impl Iterator<Item = &'a str>) -> String {
    parts.next().unwrap_or_default().trim_end_matches(".rs").to_owned()
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
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => listed(list.split('}').next().unwrap()),
            None => vec![path(rest)],
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
        let is_list = matches!(parts.as_slice(), ["lib.rs" | "main.rs"]);
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
    for table in [HISTORY, COMMAND_LINE] {
        for (place, (room, imports)) in table.iter().enumerate() {
            let above: Vec<&str> = table[..place].iter().map(|(room, _)| *room).collect();
            assert!(imports.iter().all(|import| above.contains(import)), "{room} imports a module below it");
        }
    }
}

#[test]
fn every_module_imports_what_the_table_says_and_nothing_else() {
    for (source, table) in [("crates/history/src", HISTORY), ("src", COMMAND_LINE)] {
        let found = found(source);
        let table: BTreeMap<String, BTreeSet<String>> = table
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
fn every_crate_uses_what_the_table_says_and_nothing_else() {
    for (path, used) in CRATES {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(path).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let dependencies = text.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let found = dependencies.lines().filter_map(|line| line.strip_prefix("teamkeep-"));
        let found: Vec<&str> = found.map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(&found, used, "{path}");
    }
}

#[test]
fn the_policy_uses_no_crate_for_files_or_processes_and_names_nothing_of_the_system() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/policy");
    let manifest = std::fs::read_to_string(policy.join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let found: Vec<&str> = dependencies.lines().filter_map(|line| line.split(" = ").next()).collect();
    let outside: Vec<&&str> =
        found.iter().filter(|name| !name.is_empty() && !name.starts_with(['#', 't'])).collect();
    assert_eq!(outside, [&"blake3", &"serde", &"serde_json", &"shlex"]);
    let sources = below(&policy.join("src"));
    for path in sources.iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in ["std::fs", "std::env", "std::process", "std::net", "std::io", "SystemTime", "Instant"] {
            let is_test = path.iter().any(|part| part == "tests");
            assert!(is_test || !code.contains(word), "{}: {word}", path.display());
        }
    }
}

/// `Args` is each command's, as is usual with clap.
#[test]
fn no_name_of_a_type_has_more_than_two_owners() {
    let definition =
        regex::Regex::new(r"(?m)^\s*pub(?:\([a-z]+\))? (?:struct|enum|trait|type) ([A-Z]\w*)").unwrap();
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let sources = ["src", "crates", "ship/src"]
        .map(|source| below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source)));
    let is_source = |path: &&std::path::PathBuf| {
        let is_test = path.ends_with("tests.rs") || path.iter().any(|part| part == "tests");
        path.extension().is_some_and(|kind| kind == "rs") && !is_test
    };
    for path in sources.iter().flatten().filter(is_source) {
        let text = std::fs::read_to_string(path).unwrap();
        for found in definition.captures_iter(&text) {
            owners.entry(found[1].to_owned()).or_default().push(path.display().to_string());
        }
    }
    assert!(owners.len() > 500, "the definitions are not found");
    owners.retain(|name, places| places.len() > 2 && name != "Args");
    assert_eq!(owners, BTreeMap::new());
}

#[test]
fn imports_are_found_however_they_are_spelled() {
    let text = "//! [`crate::no`]\nuse crate::one::Two;\nuse crate::{three, four::Five};\nuse crate::seven::{self, X};\nlet x = crate::six();\n#[cfg(test)]\nuse crate::no;";
    let found: Vec<String> = imports(text).into_iter().collect();
    assert_eq!(found, ["four", "one", "seven", "six", "three"]);
}
