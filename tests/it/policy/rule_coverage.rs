//! The hooks that the policy needs: what `install` writes, and who reports that they are not installed.

use std::process::Command;

use serde_json::{Value, json};

use crate::doctor::checks::TEAMS;
use crate::support::install_home::{CommandResult, Home, result};
use crate::support::sandbox::feed;

/// The rule of docs/reference/policy.md.
const RULE: &str = include_str!("../../rules/no-force-push.toml");
const BUILTIN: &str =
    "TeamCreate|TeamDelete|SendMessage|Agent|Task|TaskCreate|TaskUpdate|TaskStop|ExitWorktree";

fn home(rules: &str) -> Home {
    let home = Home::with(TEAMS);
    std::fs::create_dir(home.at("project")).unwrap();
    write(&home, rules);
    home
}

/// Runs a command in the project, which must succeed.
fn ok(home: &Home, line: &str) -> CommandResult {
    let result = result(home.dir.path(), home.command(line).current_dir(home.at("project")));
    assert_eq!(result.code, Some(0), "{line}: {}", result.err);
    result
}

/// What doctor finds of the hooks, as `verdict: line => fix`.
fn examined(home: &Home) -> String {
    let result = result(home.dir.path(), home.command("doctor --json").current_dir(home.at("project")));
    let all: Value = serde_json::from_str(&result.out).unwrap();
    let found =
        all["checks"].as_array().unwrap().iter().find(|check| check["code"] == "hooks-complete").unwrap();
    let [verdict, what] = ["verdict", "what"].map(|key| found[key].as_str().unwrap());
    format!("{verdict}: {what}{}", found["fix"].as_str().map_or(String::new(), |fix| format!(" => {fix}")))
}

/// Writes the user's policy file.
fn write(home: &Home, rules: &str) {
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), rules).unwrap();
}

fn matcher(home: &Home) -> String {
    home.json()["hooks"]["PreToolUse"][0]["matcher"].as_str().unwrap().to_owned()
}

/// Runs a line as a user pastes it.
fn paste(home: &Home, line: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).env_clear().current_dir(home.at("project"));
    shell.env("HOME", home.dir.path()).env("PATH", format!("{}:/bin", home.at("bin").display()));
    let result = result(home.dir.path(), &mut shell);
    assert_eq!(result.code, Some(0), "{line}: {}", result.err);
}

/// The command that `config check` shows, which `config show` and doctor show as well.
fn command(home: &Home) -> String {
    let check = ok(home, "config check").out;
    let hint = check
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("= hint: "))
        .unwrap_or_else(|| panic!("{check}"));
    assert!(ok(home, "config show policy").err.contains(&format!("= hint: {hint}")));
    let shown: Value = serde_json::from_str(&ok(home, "config show policy --all --json").out).unwrap();
    assert_eq!(
        shown["problems"][0]["hint"]
            .as_str()
            .map(|it| it.replace(home.dir.path().to_str().unwrap(), "~"))
            .as_deref(),
        Some(hint)
    );
    assert!(examined(home).ends_with(&format!(" => {hint}")), "{}", examined(home));
    hint.to_owned()
}

fn is_silent(home: &Home) {
    let check = ok(home, "config check").out;
    assert!(check.starts_with("no problems in "), "{check}");
    assert_eq!(ok(home, "config show policy").err, "");
    assert!(examined(home).starts_with("ok: "), "{}", examined(home));
}

#[test]
fn an_install_covers_the_tools_of_the_rules_and_no_more() {
    let home = home("");
    ok(&home, "install");
    assert_eq!(matcher(&home), BUILTIN, "without rules no other tool waits for a hook");
    for (rules, expected) in [
        (RULE.to_owned(), format!("{BUILTIN}|Bash")),
        (RULE.replace("\"Bash\"", "\"Edit\", \"mcp__*\""), format!("^({BUILTIN}|Edit|mcp__.*)$")),
        (RULE.replace("tools = [\"Bash\"]", ""), "*".to_owned()),
        (RULE.replace("PreToolUse", "TaskCreated").replace("tools = [\"Bash\"]", ""), BUILTIN.to_owned()),
    ] {
        write(&home, &rules);
        ok(&home, "install");
        assert_eq!(matcher(&home), expected);
        is_silent(&home);
    }
    write(&home, "");
    is_silent(&home);
    ok(&home, "install");
    assert_eq!(matcher(&home), BUILTIN, "what no rule needs any more is taken away");
    ok(&home, "uninstall");
    assert_eq!(home.read(), TEAMS);
}

#[test]
#[cfg_attr(windows, ignore = "needs /bin/sh")]
fn an_install_covers_the_gates_for_shared_files_and_git_only_with_a_condition() {
    const GATES: &str =
        "[policy]\nedit-collision = { mode = \"warn\" }\nhistory-rewrite = { mode = \"block\" }\n";
    let home = home("");
    ok(&home, "install");
    write(&home, GATES);
    let check = ok(&home, "config check").out;
    insta::assert_snapshot!(check.trim_start(), @"
    warning[rule-not-asked]: the hooks are not those that the policy needs (missing: PostToolUseFailure; different: PreToolUse, PostToolUse)
    --> ~/.claude/settings.json
     = hint: teamkeep install

    1 warning
    ");
    paste(&home, &command(&home));
    is_silent(&home);
    let files = "Edit|MultiEdit|NotebookEdit|Write";
    assert_eq!(matcher(&home), format!("{BUILTIN}|{files}"));
    for (event, argument) in [("PreToolUse", "pre-tool-use"), ("PostToolUse", "post-tool-use")] {
        let groups = home.json()["hooks"][event].as_array().unwrap().clone();
        assert_eq!((groups.len(), &groups[1]["matcher"]), (2, &json!("Bash")), "{event}");
        let hook = &groups[1]["hooks"][0];
        assert_eq!((&hook["if"], &hook["args"][0]), (&json!("Bash(*git *)"), &json!(argument)), "{event}");
    }
    let after = home.json()["hooks"]["PostToolUse"][0]["matcher"].as_str().unwrap().to_owned();
    assert!(after.ends_with(&format!("|{files}|Read")), "{after}");
    assert_eq!(home.json()["hooks"]["PostToolUseFailure"][0]["matcher"], "Bash");
    assert!(ok(&home, "install").err.contains("note: the PostToolUse hook also runs for git in Bash"));
    write(&home, &format!("{GATES}{RULE}"));
    paste(&home, &command(&home));
    is_silent(&home);
    assert_eq!(matcher(&home), format!("{BUILTIN}|{files}|Bash"), "a rule needs every command");
    assert_eq!(home.json()["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    write(&home, "[policy.add-everything]\nmode = \"off\"\n");
    ok(&home, "install");
    assert_eq!(matcher(&home), BUILTIN);
    assert_eq!(home.json()["hooks"]["PostToolUse"].as_array().unwrap().len(), 1);
    ok(&home, "uninstall");
    assert_eq!(home.read(), TEAMS);
}

#[test]
fn a_project_that_turns_on_a_gate_needs_its_hooks_without_trust() {
    let home = home("");
    std::fs::create_dir(home.at("project/.claude")).unwrap();
    std::fs::write(home.at("project/.claude/teamkeep.toml"), "[policy.edit-collision]\nmode = \"warn\"\n")
        .unwrap();
    ok(&home, "install");
    assert_eq!(matcher(&home), format!("{BUILTIN}|Edit|MultiEdit|NotebookEdit|Write"));
    is_silent(&home);
}

#[test]
#[cfg_attr(windows, ignore = "needs /bin/sh")]
fn a_new_rule_without_a_hook_is_reported_with_the_install_command() {
    let home = home("");
    ok(&home, "install");
    write(&home, RULE);
    insta::assert_snapshot!(ok(&home, "config check").out.trim_start(), @"
    warning[rule-not-asked]: the hooks are not those that the policy needs (different: PreToolUse)
    --> ~/.claude/settings.json
     = hint: teamkeep install

    1 warning
    ");
    insta::assert_snapshot!(examined(&home), @"warn: the hooks in ~/.claude/settings.json are not those that `install` writes (different: PreToolUse) => teamkeep install");
    paste(&home, &command(&home));
    is_silent(&home);
}

#[test]
#[cfg_attr(windows, ignore = "needs /bin/sh")]
fn the_suggested_command_repeats_the_options_of_the_first_install() {
    for options in
        ["", "--scope project", "--scope local", "--command teamkeep", "--scope local --command teamkeep"]
    {
        let home = home("");
        ok(&home, &format!("install {options}"));
        write(&home, RULE);
        let command = command(&home);
        assert_eq!(command, format!("teamkeep install {options}").trim_end());
        let before = home.everything();
        paste(&home, &command);
        is_silent(&home);
        let after = home.everything();
        let settings = |path: &&std::path::PathBuf| path.parent().unwrap().ends_with(".claude");
        let files =
            |all: &std::collections::BTreeMap<_, _>| all.keys().filter(settings).cloned().collect::<Vec<_>>();
        assert_eq!(files(&before), files(&after), "{options}: no other file");
    }
}

#[test]
fn an_unusable_policy_removes_no_hook() {
    let home = home(RULE);
    ok(&home, "install");
    write(&home, "[polity]\n");
    let result = ok(&home, "install");
    assert!(result.err.contains("no hook is removed"), "{}", result.err);
    assert_eq!(matcher(&home), format!("{BUILTIN}|Bash"));
}

#[test]
fn check_reports_that_no_hook_is_installed() {
    let home = home(RULE);
    let check = ok(&home, "config check").out;
    assert!(
        check.contains("the policy needs hooks that are not installed\n")
            && check.contains(" = hint: teamkeep install\n"),
        "{check}"
    );
    let check = ok(&home, "config check ../.config/teamkeep/teamkeep.toml").out;
    assert!(check.starts_with("no problems in "), "a file by itself is asked by nothing: {check}");
}

#[test]
fn trust_lists_rules_without_a_hook_and_install_covers_all_trusted_projects() {
    let home = home("");
    ok(&home, "install");
    for (project, tool) in [("one", "Bash"), ("two", "WebFetch")] {
        std::fs::create_dir_all(home.at(&format!("{project}/.claude"))).unwrap();
        let rule = RULE.replace("Bash", tool);
        std::fs::write(home.at(&format!("{project}/.claude/teamkeep.toml")), rule).unwrap();
    }
    ok(&home, "install");
    assert_eq!(matcher(&home), BUILTIN, "nobody trusts them");
    for project in ["one", "two"] {
        let result = ok(&home, &format!("policy trust --yes --project ../{project}"));
        assert!(result.err.contains("warning[rule-not-asked]: "), "{}", result.err);
        assert!(result.err.ends_with(" = hint: teamkeep install\n\n"), "{}", result.err);
    }
    ok(&home, "install");
    assert_eq!(matcher(&home), format!("{BUILTIN}|Bash|WebFetch"));
    let again = ok(&home, "policy trust --project ../one");
    assert!(!again.err.contains("rule-not-asked"), "{}", again.err);
}

#[test]
fn only_hooks_that_claude_code_loads_cover_rules() {
    let home = home(RULE);
    let plugin = r#"{"enabledPlugins": {"teamkeep@market": true}}"#;
    home.write(plugin);
    let check = ok(&home, "config check").out;
    assert!(
        check.contains("the policy needs hooks that are not installed\n")
            && check.contains(" = hint: teamkeep install\n"),
        "{check}"
    );
    assert!(
        examined(&home)
            .starts_with("warn: the policy needs hooks that the plugin teamkeep@market does not have")
    );
    write(&home, &RULE.replace("Bash", "SendMessage"));
    is_silent(&home);
    write(&home, RULE);
    ok(&home, "install");
    is_silent(&home);
}

#[test]
fn install_adds_hooks_for_every_event_that_a_rule_names() {
    let events = ["Notification", "PostToolUse", "PermissionDenied", "PostCompact", "UserPromptSubmit"];
    for event in events {
        let tools =
            if ["PostToolUse", "PermissionDenied"].contains(&event) { "tools = [\"Bash\"]\n" } else { "" };
        let rule = format!(
            "[[rule]]\nname = \"mine\"\nevents = [\"{event}\"]\n{tools}action = \"warn\"\nreason = \"seen\"\n"
        );
        let home = home(&rule);
        ok(&home, "install");
        is_silent(&home);
        let groups = home.json()["hooks"][event].as_array().unwrap().clone();
        assert_eq!(groups.len(), 1, "{event}");
        let matcher = groups[0].get("matcher").map(|matcher| matcher.as_str().unwrap().to_owned());
        assert_eq!(matcher.is_some(), !tools.is_empty(), "{event}");
        assert!(matcher.is_none_or(|matcher| matcher.split('|').any(|tool| tool == "Bash")), "{event}");
        let hook = &groups[0]["hooks"][0];
        let line: Vec<&str> =
            hook["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let payload =
            json!({"session_id": "s", "hook_event_name": event, "tool_name": "Bash", "message": "m"});
        let result =
            feed(&mut home.command(&format!("hook {}", line.join(" "))), payload.to_string().as_bytes());
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""), "{event}");
        assert!(
            result.out.contains("\"systemMessage\":") && result.out.contains("seen"),
            "{event}: {}",
            result.out
        );
        ok(&home, "uninstall");
        assert_eq!(home.read(), TEAMS);
    }
}

#[test]
fn install_reports_events_that_an_older_version_does_not_have() {
    let home =
        home("[[rule]]\nname = \"mine\"\nevents = [\"PostCompact\"]\naction = \"block\"\nreason = \"no\"\n");
    let result = ok(&home, "install --client-version 2.1.47");
    assert!(
        result
            .err
            .contains("note: this version of Claude Code does not have PostCompact, which the policy needs"),
        "{}",
        result.err
    );
    assert_eq!(home.json()["hooks"].get("PostCompact"), None, "it would cost this client the whole file");
    let check = ok(&home, "config check").out;
    assert!(check.contains("warning[only-warns]: the rule only warns at PostCompact"), "{check}");
}
