//! The completion scripts, and the candidates that they get from the program.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use teamkeep_history::timeline::Kind;

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

/// The script of each shell that is installed with the program: its file name and its text.
pub fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    let sandbox = Sandbox::new();
    [("bash", "teamkeep.bash"), ("zsh", "_teamkeep"), ("fish", "teamkeep.fish")]
        .map(|(shell, name)| (name, sandbox.printed(&["completions", shell]).into_bytes()))
        .into()
}

/// A store with a team of two, and one without.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, "aaaaaaaa-0000-4000-8000-000000000001", "parser-team");
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    sandbox
}

/// The candidates of bash for these words, the last of which is being typed.
pub fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let script = r#"compopt() { :; }
source "$1/docs/completions/teamkeep.bash"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); COMP_TYPE=9
_clap_complete_teamkeep teamkeep "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let root = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new("bash");
    sandbox.dress(&mut command);
    let bin = Path::new(env!("CARGO_BIN_EXE_teamkeep")).parent().unwrap();
    let output = command
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .args(["--norc", "-c", script, "bash", root, "teamkeep"])
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn names_of_runs_teams_and_agents_are_offered() {
    let sandbox = sandbox();
    let run = sandbox.library().runs[0].run.clone();
    assert_eq!(offered(&sandbox, &["show", "l"]), ["latest"]);
    assert_eq!(offered(&sandbox, &["log", "par"]), ["parser-team"]);
    assert_eq!(offered(&sandbox, &["export", &run[..6]]), [run]);
    assert_eq!(offered(&sandbox, &["log", "--raw", "--team", ""]), ["parser-team"]);
    assert_eq!(offered(&sandbox, &["log", "--agent", "b"]), ["bob"]);
    assert_eq!(offered(&sandbox, &["search", "x", "--agent", "b"]), ["bob"]);
    assert_eq!(offered(&sandbox, &["brief", "--agent", "team"]), ["team-lead"]);
    assert_eq!(offered(&sandbox, &["allow", "a"]), ["alice"]);
    assert_eq!(offered(&sandbox, &["allow", "t"]), [""; 0], "the lead is not allowed");
}

#[test]
fn closed_lists_and_files_are_offered() {
    let sandbox = sandbox();
    assert_eq!(offered(&sandbox, &["log", "--kind", "message"]), ["message", "message-refused"]);
    assert_eq!(offered(&sandbox, &["log", "--kind", ""]).len(), Kind::ALL.len());
    assert_eq!(offered(&sandbox, &["search", "x", "--kind", "t"]), ["thinking", "task", "tool"]);
    assert_eq!(offered(&sandbox, &["log", "--raw", "--event", "task-c"]), ["task-completed", "task-created"]);
    assert_eq!(offered(&sandbox, &["pause", "protect"]), ["protect-lead"]);
    assert_eq!(offered(&sandbox, &["rep"]), ["report"]);
    assert!(!offered(&sandbox, &[""]).contains(&"finish".to_owned()), "it is hidden");
    std::fs::write(sandbox.home().join("parser/Cargo.toml"), "").unwrap();
    assert_eq!(offered(&sandbox, &["report", "-o", "Cargo.t"]), ["Cargo.toml"]);
}

#[test]
fn a_store_that_cannot_be_read_offers_no_names_and_prints_no_error() {
    let sandbox = sandbox();
    std::fs::remove_dir_all(sandbox.keep("runs")).unwrap();
    std::fs::write(sandbox.keep("runs"), "").unwrap();
    assert_eq!(offered(&sandbox, &["show", "p"]), [""; 0]);
}
