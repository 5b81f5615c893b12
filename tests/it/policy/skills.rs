//! The `!` lines of skills. Claude Code runs no Bash hook for them, but PreSkillShellCommand since 2.1.332.

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, busy};
use super::shared_files::{GIT, tree, writes};
use super::team_sandbox::Team;
use crate::support::sandbox::CommandResult;

const RULE: &str = "[[rule]]\nname = \"no-force\"\nevents = [\"PreToolUse\"]\ntools = [\"Bash\"]\naction = \"ACTION\"\n\
    match = { \"/tool_input/command\" = \"*push --force*\" }\nreason = \"Force pushes are the user's to make.\"\n";

const PUSH: &str = "git push --force origin main";

fn rule(action: &str) -> String {
    RULE.replace("ACTION", action)
}

/// A line of a skill as 2.1.332 announces it; `load` is the Skill call, or Claude Code's id for what the user typed.
fn line(tool: &str, command: &str, load: &str, invoked_by: &str) -> Value {
    json!({"tool_name": tool, "tool_input": {"command": command}, "tool_use_id": format!("{load}:preamble-0"),
        "command_name": "ship", "command_source": "projectSettings", "invoked_by": invoked_by})
}

fn loads(team: &Team, by: Option<&str>, fields: Value) -> CommandResult {
    team.event("PreSkillShellCommand", by, fields)
}

#[test]
fn a_rule_for_bash_judges_the_lines_of_a_skill_of_the_lead_a_teammate_and_the_user() {
    let team = Team::new(&rule("block"));
    team.roster(&["bob"]);
    for (by, invoked_by) in [(None, "claude"), (Some("bob"), "claude"), (None, "user"), (None, "other")] {
        let blocked = loads(&team, by, line("Bash", PUSH, &format!("toolu_{invoked_by}"), invoked_by));
        assert_eq!(blocked.code, Some(2), "{by:?} {invoked_by}");
        assert_eq!(
            (blocked.out.as_str(), blocked.err.trim_end()),
            ("", "Blocked: Force pushes are the user's to make.")
        );
    }
    assert_eq!(loads(&team, None, line("Bash", "git status", "toolu_x", "claude")).code, Some(0));
    assert_eq!(loads(&team, None, line("PowerShell", PUSH, "toolu_y", "claude")).code, Some(0));
    let log = team.sandbox.log();
    let verdicts = log.iter().filter(|line| line["verdict"]["decision"] == "block");
    let actors: Vec<&str> = verdicts.map(|line| line["actor"]["name"].as_str().unwrap()).collect();
    assert_eq!(actors, ["team-lead", "bob", "team-lead", "team-lead"]);
}

#[test]
fn a_rule_that_names_no_event_or_this_one_judges_the_lines_of_skills() {
    let without = rule("block").replace("events = [\"PreToolUse\"]\n", "");
    let own = rule("block").replace("PreToolUse", "PreSkillShellCommand");
    for (config, codes) in [(without, [2, 2]), (own, [0, 2])] {
        let team = Team::new(&config);
        let bash = team.pre("Bash", None, json!({"command": PUSH}));
        let skill = loads(&team, None, line("Bash", PUSH, "toolu_s", "claude")).code.unwrap();
        assert_eq!([bash, skill], codes, "{config}");
    }
    let other = rule("block").replace("PreToolUse", "PostToolUse");
    assert_eq!(loads(&Team::new(&other), None, line("Bash", PUSH, "toolu_s", "claude")).code, Some(0));
}

#[test]
fn a_rule_that_warns_tells_only_the_user_because_the_event_has_no_context() {
    let team = Team::new(&rule("warn"));
    let warned = loads(&team, None, line("Bash", PUSH, "toolu_s", "claude"));
    let output: Value = serde_json::from_str(&warned.out).unwrap();
    assert_eq!(
        (warned.code, output),
        (Some(0), json!({"systemMessage": "Warning: Force pushes are the user's to make."}))
    );
}

#[test]
fn the_lines_of_one_load_count_once_for_the_loop_guard() {
    let team = Team::new(&format!("[policy]\nmax-blocks = 2\n{}", rule("block")));
    // Twenty lines of a skill that the user typed: Claude Code runs their hooks at the same time.
    for number in 0..20 {
        team.sandbox.set_clock(10_000);
        let mut fields = line("Bash", PUSH, "0f3f39ad:inner", "user");
        fields["tool_use_id"] = json!(format!("0f3f39ad:inner:preamble-{number}"));
        assert_eq!(loads(&team, None, fields).code, Some(2), "line {number}");
    }
    let next = |load: &str| {
        team.sandbox.think();
        loads(&team, None, line("Bash", PUSH, load, "user")).code
    };
    assert_eq!((next("1:inner"), next("2:inner")), (Some(2), Some(0)), "no block for ever");
    let lasting = format!("[policy]\nmax-blocks = 1\n{}lasting = true\n", rule("block"));
    let team = Team::new(&lasting);
    for load in ["1:inner", "2:inner", "3:inner"] {
        assert_eq!(loads(&team, None, line("Bash", PUSH, load, "user")).code, Some(2));
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn the_gates_for_git_judge_the_lines_of_skills() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    writes(&sandbox, "bob", &root.join("src/parser.rs"));
    let skill = |agent: &str, command: &str| {
        let mut call = line("Bash", command, &format!("toolu_{}", sandbox.millis()), "claude");
        (call["session_id"], call["cwd"]) = (json!(SESSION), json!(root));
        call["hook_event_name"] = json!("PreSkillShellCommand");
        (call["agent_id"], call["agent_type"]) = (json!(format!("a{agent}-1")), json!(agent));
        sandbox.feed("pre-skill-shell-command", call.to_string().as_bytes(), &[])
    };
    let all = skill("alice", "git add -A");
    let reason = "Blocked: git add --all would add uncommitted changes of bob: \"src/parser.rs\".";
    assert!(all.code == Some(2) && all.err.starts_with(reason), "{}", all.err);
    let lost = skill("alice", "git reset --hard");
    assert!(
        lost.code == Some(2) && lost.err.contains("would remove uncommitted changes of bob"),
        "{}",
        lost.err
    );
    assert_eq!(skill("bob", "git add src/parser.rs && git commit -m Parse").code, Some(0));
}

#[test]
fn a_line_of_a_skill_is_found_by_search_and_shown_in_the_log() {
    let team = Team::new("");
    loads(&team, None, line("Bash", "cargo test --package zebra", "toolu_s", "claude"));
    let found = team.sandbox.printed(&["search", "zebra"]);
    assert!(found.contains("cargo test --package zebra"), "{found}");
    let log = team.sandbox.printed(&["log", "--raw"]);
    assert!(log.lines().any(|line| line.contains("PreSkillShellCommand") && line.contains("Bash")), "{log}");
}
