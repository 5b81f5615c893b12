//! A machine whose administrator has fixed a gate and lets only managed hooks run, and a user who tries to get around it.
//! `/etc` and `/var/lib` are scratch directories: see [`namespace`](super::namespace).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::checks::same;
use super::home::Home;
use super::record::{Record, text};
use super::witness;

const CLAUDE_CODE: &str = "/etc/claude-code";
const TEAMKEEP: &str = "/etc/teamkeep";
const GATE: &str = "premature-shutdown";

/// The organization's configuration.
const ORGANIZATION: &str = "[organization]\nfixed = [\"policy.premature-shutdown\", \"policy.on-error\"]\n\n\
    [policy]\non-error = \"block\"\n\n[policy.premature-shutdown]\nmode = \"block\"\n";
/// What the user and the project would have instead.
const LOOSE: &str =
    "[policy.premature-shutdown]\nmode = \"off\"\nwithout-tasks = \"off\"\nexempt = [\"bob\"]\n";

/// The variables with which the user chooses other places.
pub fn variables(root: &Path) -> [(&'static str, String); 2] {
    let path = |name: &str| root.join(name).display().to_string();
    [("TEAMKEEP_CONFIG", path("loose.toml")), ("TEAMKEEP_HOME", path("elsewhere"))]
}

/// Brings the hooks by the administrator, and what the user tries.
pub fn bring(home: &mut Home) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot set up the machine: {error}");
    set_up(home).map_err(failed)?;
    home.teamkeep(&["install", "--scope", "managed", "--managed-hooks-only"])?;
    home.teamkeep(&["pause", "1h"])?;
    let pause = ["pause", GATE, "1h"];
    let rejected = home.output(&pause)?;
    if rejected.status.success() {
        return Err(format!("teamkeep {} is not rejected", pause.join(" ")));
    }
    Ok(())
}

fn set_up(home: &mut Home) -> std::io::Result<()> {
    for directory in [CLAUDE_CODE, TEAMKEEP] {
        if Path::new(directory).exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
    }
    // The witness is the administrator's. In the user's settings, there is another one.
    let settings = home.settings_now();
    let hooks = serde_json::from_str::<Value>(&settings).unwrap_or_default()["hooks"].clone();
    fs::write(base(), format!("{:#}\n", json!({"hooks": hooks})))?;
    let ignored = ran(home);
    fs::write(home.root.join("bin/ignored"), format!("#!/bin/sh\n: >'{}'\n", ignored.display()))?;
    witness::make_executable(&home.root.join("bin/ignored"))?;
    home.replace_settings(settings.replace("/bin/witness", "/bin/ignored"))?;
    fs::write(format!("{TEAMKEEP}/teamkeep.toml"), ORGANIZATION)?;
    home.write_policy(LOOSE)?;
    fs::write(home.root.join("loose.toml"), LOOSE)?;
    fs::create_dir_all(home.root.join("project/.claude"))?;
    fs::write(home.root.join("project/.claude/teamkeep.toml"), LOOSE)
}

fn base() -> PathBuf {
    Path::new(CLAUDE_CODE).join("managed-settings.json")
}

/// The file that exists if a hook of the user's settings has run.
fn ran(home: &Home) -> PathBuf {
    home.root.join("ran-a-hook-of-the-user")
}

/// Takes the hooks out; what is not as it was before them.
pub fn go(home: &Home) -> Vec<String> {
    let mut found: Vec<String> =
        home.teamkeep(&["uninstall", "--scope", "managed"]).err().into_iter().collect();
    let left: Vec<PathBuf> =
        fs::read_dir(CLAUDE_CODE).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.extend(same("the managed settings after uninstall", vec![base()], left));
    let _ = fs::remove_dir_all(CLAUDE_CODE);
    let _ = fs::remove_dir_all(TEAMKEEP);
    found
}

/// What the user got around, and calls that are recorded or judged twice.
pub fn differences(home: &Home, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(same("a hook of the user's settings has run", false, ran(home).exists()));
    let of = |event: &str| record.log.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    let pauses: Vec<Value> = of("PolicyOverride")
        .iter()
        .map(|line| json!([line["payload"]["gate"], line["payload"]["fixed"], line["payload"]["rejected"]]))
        .collect();
    found.extend(same("pauses", vec![json!([null, [GATE], null]), json!([GATE, [GATE], true])], pauses));
    let mut calls: Vec<String> =
        of("PreToolUse").iter().map(|line| text(&line["payload"], "tool_use_id")).collect();
    let number = calls.len();
    calls.sort();
    calls.dedup();
    found.extend(same("tool calls that are recorded", calls.len(), number));
    let mut judged: Vec<String> = of("Verdict").iter().map(|line| text(&line["verdict"], "of")).collect();
    let number = judged.len();
    judged.sort();
    judged.dedup();
    found.extend(same("verdicts on one event", judged.len(), number));
    found
}

/// How many tool calls the client announced, and how many of them twice.
pub fn announced(home: &Home) -> (usize, usize) {
    let mut calls: Vec<String> = witness::payloads(&home.root)
        .iter()
        .filter(|payload| payload["hook_event_name"] == "PreToolUse")
        .map(|payload| text(payload, "tool_use_id"))
        .collect();
    let number = calls.len();
    calls.sort();
    calls.dedup();
    (calls.len(), number - calls.len())
}

/// Whether a payload that is not recorded is the second announcement of a tool call that is.
pub fn is_again(payload: &Value, record: &Record) -> bool {
    payload["hook_event_name"] == "PreToolUse"
        && ["SendMessage", "Agent", "Task"].contains(&text(payload, "tool_name").as_str())
        && record.log.iter().any(|line| {
            line["event"] == "PreToolUse" && line["payload"]["tool_use_id"] == payload["tool_use_id"]
        })
}
