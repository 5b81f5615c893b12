//! A rule that is written is asked, or the user is told: what `install` covers, and who reports what it does not.

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

/// What doctor finds of the rules, as `verdict: line => fix`.
fn examined(home: &Home) -> String {
    let result = result(home.dir.path(), home.command("doctor --json").current_dir(home.at("project")));
    let all: Value = serde_json::from_str(&result.out).unwrap();
    let found =
        all["checks"].as_array().unwrap().iter().find(|check| check["code"] == "rules-asked").unwrap();
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

/// What the start of a session tells the user.
fn notice(home: &Home) -> Option<String> {
    let start =
        json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}).to_string();
    let answer = feed(home.command("hook session-start").current_dir(home.at("project")), start.as_bytes());
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    answer["systemMessage"].as_str().map(|told| told.replace(home.dir.path().to_str().unwrap(), "~"))
}

/// Runs a line as a user pastes it.
fn paste(home: &Home, line: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).env_clear().current_dir(home.at("project"));
    shell.env("HOME", home.dir.path()).env("PATH", format!("{}:/bin", home.at("bin").display()));
    let result = result(home.dir.path(), &mut shell);
    assert_eq!(result.code, Some(0), "{line}: {}", result.err);
}

/// The command that `config check` shows, which `config show`, doctor and the start of a session show as well.
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
    let told = notice(home).unwrap();
    let there = if hint.contains("--scope") { "cd ~/project && " } else { "" };
    assert!(told.ends_with(&format!(": {there}{hint}")), "{told}");
    hint.to_owned()
}

fn is_silent(home: &Home) {
    let check = ok(home, "config check").out;
    assert!(check.starts_with("no problems in "), "{check}");
    assert_eq!(ok(home, "config show policy").err, "");
    assert!(examined(home).starts_with("ok: the hooks cover "), "{}", examined(home));
    assert_eq!(notice(home), None);
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
    ok(&home, "install");
    assert_eq!(matcher(&home), BUILTIN, "what no rule needs any more is taken away");
    ok(&home, "uninstall");
    assert_eq!(home.read(), TEAMS);
}

#[test]
fn an_install_covers_the_gates_for_shared_files_and_git_only_with_a_condition() {
    const GATES: &str =
        "[policy]\nedit-collision = { mode = \"warn\" }\nhistory-rewrite = { mode = \"block\" }\n";
    let home = home("");
    ok(&home, "install");
    write(&home, GATES);
    let check = ok(&home, "config check").out;
    insta::assert_snapshot!(check.trim_start(), @r#"
    warning[rule-not-asked]: gate edit-collision is not evaluated at PreToolUse for Edit, MultiEdit, NotebookEdit, Write; PostToolUseFailure for Edit, MultiEdit, NotebookEdit, Write; PreToolUse for Read: no installed hook covers it
     --> ~/.config/teamkeep/teamkeep.toml:2:1
      |
    2 | edit-collision = { mode = "warn" }
      | ^^^^^^^^^^^^^^
      |
      = hint: teamkeep install

    warning[rule-not-asked]: gate history-rewrite is not evaluated at PreToolUse for Edit, MultiEdit, NotebookEdit, Write; PostToolUseFailure for Edit, MultiEdit, NotebookEdit, Write; PreToolUse for Bash; PostToolUse for Bash: no installed hook covers it
     --> ~/.config/teamkeep/teamkeep.toml:3:1
      |
    3 | history-rewrite = { mode = "block" }
      | ^^^^^^^^^^^^^^^
      |
      = hint: teamkeep install

    2 warnings
    "#);
    assert!(
        notice(&home)
            .unwrap()
            .starts_with("teamkeep: gate edit-collision is not evaluated at PreToolUse for Edit")
    );
    paste(&home, &command(&home));
    is_silent(&home);
    assert_eq!(examined(&home), "ok: the hooks cover 2 gates");
    let files = "Edit|MultiEdit|NotebookEdit|Write|Read";
    assert_eq!(matcher(&home), format!("{BUILTIN}|{files}"));
    for (event, argument) in [("PreToolUse", "pre-tool-use"), ("PostToolUse", "post-tool-use")] {
        let groups = home.json()["hooks"][event].as_array().unwrap().clone();
        assert_eq!((groups.len(), &groups[1]["matcher"]), (2, &json!("Bash")), "{event}");
        let hook = &groups[1]["hooks"][0];
        assert_eq!((&hook["if"], &hook["args"][0]), (&json!("Bash(*git *)"), &json!(argument)), "{event}");
    }
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
    assert_eq!(matcher(&home), format!("{BUILTIN}|Edit|MultiEdit|NotebookEdit|Write|Read"));
    is_silent(&home);
}

#[test]
fn a_new_rule_without_a_hook_is_reported_with_the_install_command() {
    let home = home("");
    ok(&home, "install");
    write(&home, RULE);
    let check = ok(&home, "config check").out;
    insta::assert_snapshot!(check.trim_start(), @r#"
    warning[rule-not-asked]: rule "no-force-push" is not evaluated at PreToolUse for Bash: no installed hook covers it
     --> ~/.config/teamkeep/teamkeep.toml:3:1
      |
    3 | name = "no-force-push"
      | ^^^^
      |
      = hint: teamkeep install

    1 warning
    "#);
    insta::assert_snapshot!(examined(&home), @r#"bad: rule "no-force-push" is not evaluated at PreToolUse for Bash: no installed hook covers it => teamkeep install"#);
    insta::assert_snapshot!(notice(&home).unwrap(), @r#"teamkeep: rule no-force-push is not evaluated at PreToolUse for Bash: no installed hook covers it. To fix it, run this in a terminal and restart the session: teamkeep install"#);
    paste(&home, &command(&home));
    is_silent(&home);
}

#[test]
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
    let home = home("");
    ok(&home, "install --settings elsewhere.json");
    write(&home, RULE);
    assert_eq!(
        notice(&home).unwrap().rsplit(": ").next().unwrap(),
        "teamkeep install --settings ~/project/elsewhere.json"
    );
    ok(&home, "install --settings elsewhere.json");
    assert_eq!(notice(&home), None);
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
        check.contains("is not evaluated: no hooks are installed\n")
            && check.contains(" = hint: teamkeep install\n"),
        "{check}"
    );
    let check = ok(&home, "policy check ../.config/teamkeep/teamkeep.toml").out;
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
        assert!(result.err.contains("warning[rule-not-asked]: rule \"no-force-push\""), "{}", result.err);
        assert!(result.err.ends_with(" = hint: teamkeep install\n\n"), "{}", result.err);
    }
    ok(&home, "install");
    assert_eq!(matcher(&home), format!("{BUILTIN}|Bash|WebFetch"));
    let again = ok(&home, "policy trust --project ../one");
    assert!(!again.err.contains("is not evaluated"), "{}", again.err);
}

#[test]
fn only_hooks_that_claude_code_loads_cover_rules() {
    let home = home(RULE);
    let plugin = r#"{"enabledPlugins": {"teamkeep@market": true}}"#;
    home.write(plugin);
    let check = ok(&home, "config check").out;
    assert!(
        check.contains("PreToolUse for Bash: no installed hook covers it\n")
            && check.contains(" = hint: teamkeep install\n"),
        "{check}"
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
fn a_warning_at_session_start_keeps_the_watched_paths() {
    let home = home(
        "[[rule]]\nname = \"mine\"\nevents = [\"SessionStart\"]\naction = \"warn\"\nreason = \"seen\"\n",
    );
    ok(&home, "install");
    assert!(notice(&home).unwrap().contains("seen"));
    let start =
        json!({"session_id": "t", "hook_event_name": "SessionStart", "source": "startup"}).to_string();
    assert!(feed(&mut home.command("hook session-start"), start.as_bytes()).out.contains("watchPaths"));
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
    assert!(
        check.contains(
            "hint: teamkeep install  # upgrade Claude Code first: 2.1.47 does not have PostCompact\n"
        ),
        "{check}"
    );
}
