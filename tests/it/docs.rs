//! The documentation is held to the program.

use std::path::Path;
use std::process::Command;

use teamkeep::archive::EndedBy;
use teamkeep::config::keys::KEYS;
use teamkeep::config::schema::schema;
use teamkeep::config::{Code, Config, Severity};
use teamkeep::timeline::Kind;

fn page(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_readme_names_every_command() {
    let help = Command::new(env!("CARGO_BIN_EXE_teamkeep")).arg("--help").env_clear().output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.contains(&"replay") && commands.contains(&"hook"), "{commands:?}");
    let readme = page("README.md");
    for command in commands {
        assert!(readme.contains(&format!("`teamkeep {command}")), "README.md does not name {command}");
    }
}

#[test]
fn the_readme_names_every_variable_with_the_program_s_own_words() {
    let readme = page("README.md");
    for variable in teamkeep::env::VARIABLES {
        let row = format!("| `{}` | {} |", variable.name, variable.about);
        assert!(readme.contains(&row), "README.md has no row {row}");
    }
}

#[test]
fn the_formats_name_every_kind_and_every_end() {
    let formats = page("docs/formats.md");
    let spelled = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    let kinds = Kind::ALL.iter().map(|kind| spelled(serde_json::to_value(kind).unwrap()));
    let ends = EndedBy::ALL.iter().map(|end| spelled(serde_json::to_value(end).unwrap()));
    let damage = teamkeep::verify::Kind::ALL.iter().map(|kind| kind.word().to_owned());
    for word in kinds.chain(ends).chain(damage) {
        assert!(formats.contains(&format!("`{word}`")), "docs/formats.md does not name {word}");
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
fn the_report_s_page_names_every_key_and_every_code() {
    let page = page("docs/report.md");
    let told = super::traces::play(super::traces::ALL[2], 1);
    let report: serde_json::Value = serde_json::from_str(&told.stage.told(&["report", "--json"])).unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(&report, &mut found);
    assert!(found.contains("owner_from") && found.len() > 60, "{found:?}");
    for key in found {
        assert!(page.contains(&format!("`{key}`")), "docs/report.md does not name {key}");
    }
    for code in teamkeep::report::Code::ALL {
        let code = serde_json::to_value(code).unwrap();
        let row = format!("| `{}` | ", code.as_str().unwrap());
        assert!(page.contains(&row), "docs/report.md has no row {row}");
    }
}

#[test]
fn the_policy_s_page_says_of_every_key_what_the_program_says() {
    let policy = page("docs/policy.md");
    for key in KEYS {
        let default = key.default.map_or("must be written".to_owned(), |default| format!("`{default}`"));
        let row = format!("| `{}` | {default} | {} |\n", key.path, key.doc);
        assert_eq!(policy.matches(&row).count(), 1, "docs/policy.md has no row {row}");
        if let Some(gate) = key.path.strip_prefix("policy.").and_then(|path| path.strip_suffix(".mode")) {
            assert!(policy.contains(&format!("\n## {gate}\n")), "docs/policy.md has no part on {gate}");
        }
    }
}

#[test]
fn the_policy_s_page_has_every_diagnostic() {
    let policy = page("docs/policy.md");
    for code in Code::ALL {
        let severity = if code.severity() == Severity::Error { "error" } else { "warning" };
        let row = format!("| `{}` | {severity} | {} |\n", code.name(), code.about());
        assert!(policy.contains(&row), "docs/policy.md has no row {row}");
        assert!(
            code.name()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
    }
    let rows = policy.lines().filter(|line| line.contains("` | error | ") || line.contains("` | warning | "));
    assert_eq!(rows.count(), Code::ALL.len());
}

#[test]
fn the_doctor_s_page_has_every_check_and_every_verdict() {
    let doctor = page("docs/doctor.md");
    let (_, table) = doctor.split_once("\n## The checks\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| !line.starts_with("## ")).collect();
    let rows: Vec<&str> = rows.into_iter().filter(|line| line.starts_with("| `")).collect();
    let wanted: Vec<String> = teamkeep::doctor::Code::ALL
        .iter()
        .map(|code| format!("| `{}` | {} |", code.name(), code.about()))
        .collect();
    assert_eq!(rows, wanted, "in the order in which they are told");
    let kebab = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    assert!(teamkeep::doctor::Code::ALL.iter().all(|code| kebab(code.name())));
    for verdict in teamkeep::doctor::Verdict::ALL {
        assert!(doctor.contains(&format!("| `{}` | ", verdict.word())), "{verdict:?}");
    }
}

#[test]
fn the_formats_name_every_key_of_the_doctor_s_answer() {
    let formats = page("docs/formats.md");
    let (_, part) = formats.split_once("## `doctor --json`\n").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let answer = super::doctor::examined(&super::doctor::well(), "doctor --json");
    let mut found = std::collections::BTreeSet::new();
    keys(&answer, &mut found);
    assert!(found.contains("mend") && found.len() == 12, "{found:?}");
    let words: Vec<&str> = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for key in found {
        assert!(words.contains(&key.as_str()), "docs/formats.md does not name {key}");
    }
}

#[test]
fn the_readme_and_the_formats_name_every_command_that_speaks_json() {
    let (readme, formats) = (page("README.md"), page("docs/formats.md"));
    let (_, after) = readme.split_once("What is shown is in UTC. ").unwrap();
    let (listed, _) = after.split_once(" have `--json` for").unwrap();
    let mut found = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/man")).unwrap() {
        let path = entry.unwrap().path();
        let man = std::fs::read_to_string(&path).unwrap();
        if !man.contains("\n\\fB\\-\\-json\\fR\n") {
            continue;
        }
        found += 1;
        let name = path.file_stem().unwrap().to_str().unwrap().strip_prefix("teamkeep-").unwrap();
        let name = name.replacen("policy-", "policy ", 1);
        assert!(listed.contains(&format!("`{name}`")), "README.md does not say that {name} has --json");
        // The lines of the log and the report have parts or pages that are named otherwise.
        let told =
            ["log", "report"].contains(&name.as_str()) || formats.contains(&format!("`{name} --json`"));
        assert!(told, "docs/formats.md does not tell of {name} --json");
    }
    assert_eq!(found, listed.matches('`').count() / 2, "{listed}");
}

#[test]
fn the_formats_name_every_key_of_what_the_policy_shows() {
    let formats = page("docs/formats.md");
    let (_, part) = formats.split_once("## `policy show --json`\n").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let stage = super::stage::Stage::new();
    let place = stage.home().join("parser/.claude");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("teamkeep.toml"), "[[policy.completion-check.check]]\nrun = \"true\"\n")
        .unwrap();
    let answer: serde_json::Value = serde_json::from_str(&stage.told(&["policy", "show", "--json"])).unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(&answer, &mut found);
    assert!(found.contains("standing") && found.contains("message"), "{found:?}");
    let words: Vec<&str> = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for key in found {
        assert!(words.contains(&key.as_str()), "docs/formats.md does not name {key}");
    }
}

#[test]
fn the_examples_of_the_policy_s_page_are_sound() {
    let policy = page("docs/policy.md");
    let examples: Vec<&str> =
        policy.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        Config::parse(example, Path::new("docs/policy.md")).unwrap();
    }
}

#[test]
fn the_schema_beside_the_pages_is_the_program_s() {
    let written = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    assert_eq!(
        page("docs/teamkeep.schema.json"),
        written,
        "teamkeep config schema > docs/teamkeep.schema.json"
    );
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let readme = page("README.md");
    let (_, after) = readme.split_once("## Working on it").unwrap();
    let command = after.split("```sh\n").nth(1).unwrap().lines().next().unwrap();
    assert!(command.starts_with("cargo test"), "{command}");
    let ci = page(".ci/run");
    assert!(ci.lines().any(|line| line == command), ".ci/run does not run {command}");
    assert!(ci.contains("\nexport TEAMKEEP_NEED_BROWSER=1\n"), "nothing is left out there");
}

#[test]
fn the_project_links_to_pages_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in [
        "README.md",
        "docs/formats.md",
        "docs/client-facts.md",
        "docs/performance.md",
        "docs/policy.md",
        "docs/doctor.md",
        "hooks/README.md",
    ] {
        let text = page(name);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") && !link.starts_with('#') {
                let target = root.join(name).parent().unwrap().join(link.split('#').next().unwrap());
                assert!(target.exists(), "{name} links to {link}");
            }
        }
    }
}

#[test]
fn the_readme_and_the_manifest_name_the_license_that_is_there() {
    assert!(
        page("LICENSE").starts_with("MIT License\n") && page("Cargo.toml").contains("license = \"MIT\"\n")
    );
    let readme = page("README.md");
    assert!(readme.contains("[MIT](LICENSE)") && !readme.contains("Apache"));
}

#[test]
fn the_formats_name_every_part_of_the_store() {
    let formats = page("docs/formats.md");
    for part in [
        "log/.lock",
        "log/.pruned",
        "policy/.<run>.lock",
        "sessions/.lock",
        "installs/lock",
        "transcripts.json",
    ] {
        assert!(formats.contains(&format!("{part} ")) || formats.contains(&format!("`{part}`")), "{part}");
    }
}

#[test]
fn the_story_of_the_readme_is_the_one_that_the_demo_tells() {
    let demo = Command::new(env!("CARGO_BIN_EXE_teamkeep")).arg("demo").env_clear().output().unwrap();
    let told = String::from_utf8(demo.stdout).unwrap();
    let readme = page("README.md");
    let (_, after) = readme.split_once("$ teamkeep replay\n").unwrap();
    for line in after.lines().take_while(|line| *line != "```") {
        assert!(told.lines().any(|one| one == line), "the demo does not tell {line:?}");
    }
}
