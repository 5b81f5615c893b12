//! The documentation is held to the program.

use std::path::Path;

use teamkeep_config::Config;
use teamkeep_config::schema::keys as configuration_keys;
use teamkeep_history::timeline::Kind;
use teamkeep_store::archive::EndedBy;

use crate::history::traces::{V328, play_again};
use crate::support::reenact::Trace;
use crate::support::sandbox::below;

fn page(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_json_page_names_every_kind_and_every_end() {
    let formats = page("docs/reference/json.md");
    let spelled = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    let kinds = Kind::ALL.iter().map(|kind| spelled(serde_json::to_value(kind).unwrap()));
    let ends = EndedBy::ALL.iter().map(|end| spelled(serde_json::to_value(end).unwrap()));
    let damage = teamkeep::verify::DamageKind::ALL.iter().map(|kind| kind.name().to_owned());
    for word in kinds.chain(ends).chain(damage) {
        assert!(formats.contains(&format!("`{word}`")), "docs/reference/json.md does not name {word}");
    }
}

/// Every key of an object and what is in it. What is counted by name has names for keys.
fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                if !["tools", "total"].contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn the_json_page_names_every_key_and_every_code_of_the_report() {
    let page = page("docs/reference/json.md");
    let told = crate::history::traces::play(crate::history::traces::ALL[2], 1);
    let report: serde_json::Value =
        serde_json::from_str(&told.sandbox.printed(&["report", "--json"])).unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(&report, &mut found);
    assert!(found.contains("owner_from") && found.len() > 60, "{found:?}");
    for key in found {
        assert!(page.contains(&format!("`{key}`")), "docs/reference/json.md does not name {key}");
    }
    for code in teamkeep_history::report::ObservationKind::ALL {
        let code = serde_json::to_value(code).unwrap();
        let row = format!("| `{}` | ", code.as_str().unwrap());
        assert!(page.contains(&row), "docs/reference/json.md has no row {row}");
    }
}

#[test]
fn the_page_about_incidents_has_a_row_for_each_kind_in_the_order_of_the_kinds() {
    let page = page("docs/reference/incidents.md");
    let rows: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let kinds: Vec<String> =
        teamkeep_history::report::IncidentKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(rows, kinds);
}

/// The keys and diagnostics themselves are in generated pages.
#[test]
fn the_policy_page_explains_every_gate_in_at_most_ten_lines() {
    let policy = page("docs/reference/policy.md");
    let all = configuration_keys();
    let gates = all.iter().filter_map(|key| key.path.strip_prefix("policy.")?.strip_suffix(".mode"));
    for gate in gates {
        let (_, part) = policy.split_once(&format!("\n## {gate}\n\n")).unwrap();
        let part = part.split("\n## ").next().unwrap();
        let text: Vec<&str> =
            part.split("\n\n").filter(|block| !block.starts_with(['|', '`', '['])).collect();
        let lines = text.join("\n").lines().filter(|line| !line.is_empty()).count();
        assert!(lines <= 10, "{gate}: {lines} lines");
        let keys = all.iter().filter_map(|key| key.path.strip_prefix(&format!("policy.{gate}.")));
        for key in keys.map(|key| key.rsplit('.').next().unwrap()) {
            assert!(part.contains(&format!("`{key}`")), "{gate} does not name {key}");
        }
    }
}

#[test]
fn the_json_page_names_every_key_of_the_doctor_s_answer() {
    let formats = page("docs/reference/json.md");
    let (_, part) = formats.split_once("## `doctor --json`\n").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let answer = crate::doctor::checks::examined(&crate::doctor::checks::well(), "doctor --json");
    let mut found = std::collections::BTreeSet::new();
    keys(&answer, &mut found);
    assert!(found.contains("fix") && found.len() == 12, "{found:?}");
    let words: Vec<&str> = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for key in found {
        assert!(words.contains(&key.as_str()), "docs/reference/json.md does not name {key}");
    }
}

#[test]
fn the_json_page_describes_every_command_with_json() {
    let formats = page("docs/reference/json.md");
    let mut found = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/man")).unwrap() {
        let path = entry.unwrap().path();
        let man = std::fs::read_to_string(&path).unwrap();
        if !man.contains("\n\\fB\\-\\-json\\fR\n") {
            continue;
        }
        found += 1;
        let name = path.file_stem().unwrap().to_str().unwrap().strip_prefix("teamkeep-").unwrap();
        let name = match name.split_once('-') {
            Some((group, below)) => format!("{group} {below}"),
            // Its other form prints no data.
            None if name == "ship" => "ship --dry-run".to_owned(),
            None => name.to_owned(),
        };
        // The lines of the log and the report have parts or pages that are named otherwise.
        let told = ["log", "--raw", "report"].contains(&name.as_str())
            || formats.contains(&format!("`{name} --json`"));
        assert!(told, "docs/reference/json.md does not describe {name} --json");
    }
    assert!(found > 10, "{found}");
}

#[test]
fn the_json_page_names_every_key_of_the_configuration() {
    let formats = page("docs/reference/json.md");
    let (_, part) = formats.split_once("## `config show --json`\n").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let sandbox = crate::support::sandbox::Sandbox::new();
    let place = sandbox.home().join("parser/.claude");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("teamkeep.toml"), "[[policy.completion-check.check]]\nrun = \"true\"\n")
        .unwrap();
    let answer: serde_json::Value =
        serde_json::from_str(&sandbox.printed(&["config", "show", "policy", "--json"])).unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(&answer, &mut found);
    assert!(found.contains("standing") && found.contains("message"), "{found:?}");
    let words: Vec<&str> = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for key in found {
        assert!(words.contains(&key.as_str()), "docs/reference/json.md does not name {key}");
    }
}

#[test]
fn configuration_examples_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = below(&root.join("docs"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let mut count = 0;
    for path in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&path).unwrap();
        for example in text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            Config::parse(example, &path).unwrap();
            count += 1;
        }
    }
    assert!(count > 6, "{count}");
}

#[test]
fn ci_runs_the_test_command_of_the_contributing_guide() {
    let guide = page("CONTRIBUTING.md");
    let (_, after) = guide.split_once("## Build and test").unwrap();
    let command = after.split("```sh\n").nth(1).unwrap().lines().next().unwrap();
    assert!(command.starts_with("cargo test"), "{command}");
    let ci = page(".ci/run");
    for line in [command, "scripts/tool.sh typos", "scripts/docs.sh", "export TEAMKEEP_NEED_BROWSER=1"] {
        assert!(ci.lines().any(|one| one == line), ".ci/run does not run {line}");
    }
}

#[test]
fn the_readme_is_short_and_has_two_pictures() {
    let readme = page("README.md");
    let words = readme.split_whitespace().count();
    assert!(words <= 900, "{words} words: move details to docs/");
    assert_eq!(readme.matches("](docs/pictures/").count(), 2);
}

#[test]
fn the_readme_and_the_manifest_name_the_license_that_is_there() {
    assert!(
        page("LICENSE").starts_with("MIT License\n") && page("Cargo.toml").contains("license = \"MIT\"\n")
    );
    let readme = page("README.md");
    assert!(readme.contains("[MIT](LICENSE)") && !readme.contains("Apache"));
}

/// The patterns of the table of files: what is in backticks in the first column.
fn files_of_the_page() -> Vec<String> {
    let page = page("docs/contributing/store.md");
    let table = page.split("## Files").nth(1).unwrap().split("### Locks").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.flat_map(|row| row.split(" | ").next().unwrap().split('`').skip(1).step_by(2));
    cells.map(str::to_owned).collect()
}

/// Whether a path of the store is what a pattern describes: `<run>` is one name, and `*` or a last slash anything.
fn is_described(path: &str, pattern: &str) -> bool {
    let name = regex::Regex::new("<[a-z]+>").unwrap();
    let names = name.replace_all(pattern, "\u{1}");
    let whole = if names.ends_with('/') { format!("{names}*") } else { names.into_owned() };
    let pattern = regex::escape(&whole).replace("\\*", ".*").replace('\u{1}', "[^/]+");
    regex::Regex::new(&format!("^{pattern}$")).unwrap().is_match(path)
}

#[test]
fn the_page_about_the_store_describes_each_file_once() {
    let played = play_again(Trace::read(V328.0, V328.1), 1);
    let sandbox = &played.sandbox;
    assert_eq!(sandbox.run(&["allow", "alice", "--force"]).code, Some(0));
    sandbox.printed(&["list"]);
    let rows = files_of_the_page();
    let store = sandbox.keep("");
    let files: Vec<_> = below(&store).into_iter().filter(|path| path.is_file()).collect();
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let path = file.strip_prefix(&store).unwrap().to_str().unwrap();
        let own: Vec<_> = rows.iter().filter(|row| is_described(path, row)).collect();
        assert_eq!(own.len(), 1, "{path}: {own:?}");
    }
    let parts = teamkeep_system::paths::PARTS;
    for part in parts {
        assert!(rows.iter().any(|row| row.split('/').next() == Some(part.trim_end_matches('/'))), "{part}");
    }
    for row in &rows {
        assert!(parts.iter().any(|part| row.split('/').next() == Some(*part)), "{row}");
    }
}
