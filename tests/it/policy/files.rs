//! Policy files: what is wrong with one.

use std::path::Path;

use serde_json::Value;
use teamkeep_config::check::check;
use teamkeep_config::source::Source;
use teamkeep_config::{Config, OnError};
use teamkeep_hook::response::Response;
use teamkeep_model::payload::{BLOCKABLE, KNOWN};

use super::policy_dirs::{Place, codes, found};
use crate::support::access::set_mode;

#[test]
fn all_problems_of_a_file_are_found_at_once_each_at_its_place() {
    let text = r#"top = 1
[log]
keep = "90"
keep_size = "1 GiB"
segment-size = "1 TiB"
[policy]
max-blocks = -3
on-error = "alow"
premature-shutdown = 3
[policy.team-size]
mode = true
models = ["a", "[b", 3]
[[policy.completion-check.check]]
subject = ""
timeout = "soon"
[[rule]]
name = "a"
action = "block"
events = ["PreToolUs", "SubagentStart"]
match = { "tool_input" = "x", "/a" = "/(/", "/b" = 4, "/c" = "/x{9999}/" }
[[rule]]
name = "a"
action = "deny"
[[rule]]
name = "b"
action = "warn"
events = ["stop"]
tools = ["Bash"]
"#;
    assert_eq!(
        found(text),
        [
            "1:1 unknown-key",
            "3:8 bad-duration",
            "4:1 unknown-key",
            "5:16 bad-size",
            "7:14 bad-number",
            "8:12 bad-value",
            "9:1 wrong-type",
            "11:8 wrong-type",
            "12:16 bad-glob",
            "12:22 wrong-type",
            "13:1 missing-key",
            "14:11 bad-glob",
            "15:11 bad-duration",
            "18:10 missing-reason",
            "19:11 unknown-event",
            "20:11 bad-pointer",
            "20:38 bad-regex",
            "20:52 wrong-type",
            "20:62 large-regex",
            "22:8 duplicate-rule",
            "23:10 bad-value",
            "28:9 never-matches",
        ]
    );
}

#[test]
fn a_syntax_error_is_the_only_problem_and_a_double_key_is_not() {
    assert_eq!(found("a = \n[policy\nx = 1\n"), ["1:5 syntax", "2:8 syntax"]);
    assert_eq!(
        found("[log]\nkeep = \"1d\"\nkeep = \"2d\"\n[hook]\nslow = 3\n"),
        ["3:1 duplicate-key", "5:8 wrong-type"]
    );
    let twice = check(&Source::new(Path::new("x.toml"), "[log]\nkeep = \"1d\"\nkeep = \"2d\"\n"));
    assert_eq!(twice.problems[0].message, "`keep` occurs twice");
    assert_eq!(found("\u{feff}[log]\nü = 1\n"), ["2:1 unknown-key"].map(|_| "2:1 syntax"));
}

#[test]
fn a_gate_that_may_never_block_is_an_error() {
    for zero in ["0", "0x0", "+0"] {
        assert_eq!(found(&format!("[policy]\nmax-blocks = {zero}\n")), ["2:14 bad-value"], "{zero}");
    }
    assert_eq!(found("[policy]\nmax-blocks = 1\n[policy.team-size]\nmost = 0\n"), [""; 0]);
}

#[test]
fn a_quoted_key_with_dots_is_not_a_path() {
    for text in ["\"policy.on-error\" = \"block\"", "\"rule[]\" = 1", "[\"log.keep\"]", "\"\" = 1"] {
        assert_eq!(
            found(text),
            [format!("1:{} unknown-key", if text.starts_with('[') { 2 } else { 1 })],
            "{text}"
        );
    }
}

#[test]
fn the_number_of_listed_problems_is_limited() {
    assert_eq!(found(&"[[rule]]\n".repeat(50_000)).len(), 100);
    let line = format!("rule = [{}]", "{},".repeat(50_000));
    assert_eq!(found(&line).len(), 100);
}

#[test]
fn an_unreadable_file_is_a_problem_and_a_missing_one_is_not() {
    let place = Place::new("[hook]\nwatch = false\n", "");
    assert!(!place.load().config.hook.watch && place.load().problems.is_empty());
    set_mode(&place.files.user, 0o000);
    // To root every file is open.
    if std::fs::read(&place.files.user).is_err() {
        assert_eq!(codes(&place.load()), ["unreadable"]);
    }
    std::fs::remove_file(&place.files.user).unwrap();
    std::fs::remove_dir_all(place.dir.path().join("project")).unwrap();
    std::fs::write(place.dir.path().join("project"), "a file").unwrap();
    let effective = place.load();
    assert!(effective.problems.is_empty() && effective.settings.is_empty(), "{:?}", effective.problems);
}

#[test]
fn the_on_error_of_a_broken_user_file_applies() {
    let place = Place::new("[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n[log]\nkeep = \"1d\"\n", "");
    let effective = place.load();
    assert_eq!(codes(&effective), ["wrong-type"]);
    assert_eq!(effective.config.policy.on_error, OnError::Block);
    assert_eq!(effective.config.log, Config::default().log);
    let place = Place::new("[policy]\non-error = \"block\"\n[log]\nkeep = \n", "");
    assert_eq!(place.load().config.policy.on_error, OnError::Block);
}

#[test]
fn the_judged_events_are_those_that_can_be_blocked() {
    for (kind, name, _) in KNOWN {
        assert_eq!(BLOCKABLE.contains(kind), Response::block(*kind, "no").exit == 2, "{name}");
    }
}

#[test]
fn a_problem_in_json_has_its_code() {
    let problems = check(&Source::new(Path::new("x"), "a = 1")).problems;
    let json: Value = serde_json::to_value(&problems[0]).unwrap();
    assert_eq!((json["code"].as_str(), json["at"][0].as_u64()), (Some("unknown-key"), Some(1)));
}

#[test]
fn a_tool_in_another_case_is_a_warning_with_the_right_name() {
    let rule = |tool: &str| {
        format!(
            "[[rule]]\nname = \"r\"\ntools = [\"Edit\", \"{tool}\"]\naction = \"warn\"\nreason = \"no\"\n"
        )
    };
    for tool in ["bash", "SENDMESSAGE", "taskStop"] {
        assert_eq!(found(&rule(tool)), ["3:9 never-matches"], "{tool}");
    }
    for tool in ["Bash", "bash*", "mcp__bash", "*", "Mine"] {
        assert_eq!(found(&rule(tool)), [""; 0], "{tool}");
    }
}
