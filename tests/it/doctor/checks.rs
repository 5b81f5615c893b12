//! `teamkeep doctor`, run as a user runs it, in a home of its own.

use insta::assert_snapshot;
use serde_json::{Value, json};
use teamkeep::doctor::DoctorCheck;

use crate::support::install_home::{Home, result};
use crate::support::sandbox::unix_paths;

/// The verdicts of `doctor --json`.
pub const VERDICTS: [&str; 4] = ["ok", "unknown", "warn", "bad"];

/// Settings of a user with agent teams.
pub const TEAMS: &str = "{\n  \"env\": {\n    \"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS\": \"1\",\n    \"CLAUDE_CODE_ENABLE_TODO_TOOLS\": \"1\"\n  }\n}\n";

/// A home in which all is well.
pub fn well() -> Home {
    let home = Home::with(TEAMS);
    home.ok("install");
    home
}

/// What `doctor --json` says, and its exit code, which must agree.
pub fn examined(home: &Home, line: &str) -> Value {
    let result = home.run(line);
    let value: Value =
        serde_json::from_str(&result.out).unwrap_or_else(|_| panic!("{}{}", result.out, result.err));
    assert_eq!(result.code, Some(i32::from(value["well"] == false)), "{}", result.out);
    assert_eq!(value["well"] == true, value["bad"] == 0);
    value
}

/// The findings of one check: verdict and line.
pub fn of(home: &Home, code: &str) -> Vec<(String, String, Option<String>)> {
    let value = examined(home, "doctor --json");
    let checks = value["checks"].as_array().unwrap().iter().filter(|check| check["code"] == code);
    let text = |value: &Value| unix_paths(value.as_str().unwrap(), home.dir.path(), "~");
    checks
        .map(|check| {
            (
                text(&check["verdict"]),
                text(&check["what"]),
                check["fix"].as_str().map(|_| text(&check["fix"])),
            )
        })
        .collect()
}

/// The one finding of a check, as `verdict: line => fix`.
pub fn one(home: &Home, code: &str) -> String {
    let found = of(home, code);
    assert_eq!(found.len(), 1, "{found:?}");
    let (verdict, what, fix) = &found[0];
    format!("{verdict}: {what}{}", fix.as_ref().map_or(String::new(), |fix| format!(" => {fix}")))
}

/// Numbers of milliseconds and gigabytes, which differ from machine to machine, spelled `N`.
fn numbers(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            if matches!(words[at], "ms" | "GB") {
                words[at - 1] = "N";
            }
        }
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg_attr(windows, ignore = "the output is that of Unix")]
#[test]
fn doctor_reports_no_problem_after_install() {
    let home = well();
    let before = home.everything();
    let result = home.ok("doctor --verbose");
    assert_snapshot!(numbers(&result.out), @"
    no problems found

    ok      client           Claude Code 2.1.332 (~/bin/claude)
    ok      client-events    Claude Code 2.1.332 supports every event in its settings
    ok      agent-teams      agent teams are on (CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS in ~/.claude/settings.json)
    ok      task-tools       the task tools are on (CLAUDE_CODE_ENABLE_TODO_TOOLS in ~/.claude/settings.json)
    ok      settings         Claude Code can read 1 settings file: ~/.claude/settings.json
    ok      managed-settings Claude Code has no managed settings on this machine
    ok      hooks-enabled    no setting disables hooks
    ok      hooks-installed  17 hooks in ~/.claude/settings.json
    ok      hooks-complete   the hooks are those that `install` writes for Claude Code 2.1.332 and the policy
    ok      hooks-twice      no event calls teamkeep twice
    ok      hook-form        every hook in the settings has a valid form
    ok      hook-command     the hooks run ~/bin/teamkeep-hook
    ok      hook-answer      ~/bin/teamkeep-hook recorded and answered a test hook call in N ms
    ok      search-path      `teamkeep` is ~/bin/teamkeep
    ok      versions         teamkeep 0.1.0 is the only installed version
    ok      organization     no organization's configuration
    ok      policy-files     no configuration file; using the defaults
    ok      policy-trust     this project has no policy file
    ok      notifications    notifications are off
    ok      shipping         shipping is off
    ok      store-private    ~/.local/share/teamkeep is private
    ok      store-writable   ~/.local/share/teamkeep is writable
    ok      store-room       N GB free at ~/.local/share/teamkeep
    skipped last-event       no events recorded yet; start a Claude Code session
    skipped newest-run       no run recorded yet
    ok      own-failures     no hook errors in the last 24 hours
    ok      task-lists       every task of the running teams is in a task list that the hooks know
    ok      team-files       every file of the running teams can be read
    ok      stale-teams      no stale team directories

    27 checks passed, 2 skipped
    ");
    assert_eq!(result.err, "");
    assert_eq!(home.everything(), before, "nothing was changed");
    let value = examined(&home, "doctor --json");
    assert_eq!((&value["v"], &value["fixed"]), (&json!(1), &json!([])));
}

#[test]
fn doctor_reports_every_check_in_order() {
    for home in [Home::new(), well()] {
        let value = examined(&home, "doctor --json");
        let mut told: Vec<&str> =
            value["checks"].as_array().unwrap().iter().map(|check| check["code"].as_str().unwrap()).collect();
        told.dedup();
        assert_eq!(told, DoctorCheck::ALL.iter().map(|code| code.name()).collect::<Vec<_>>());
        for verdict in VERDICTS {
            let count = value["checks"].as_array().unwrap().iter();
            let count = count.filter(|check| check["verdict"] == verdict).count();
            assert_eq!(value[verdict], count, "{verdict}");
        }
    }
}

#[test]
fn doctor_reports_each_problem_with_its_fix() {
    let home = Home::new();
    home.remove_client();
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), "[log\n").unwrap();
    home.write("{\"disableAllHooks\": true}");
    let result = home.run("doctor");
    assert_eq!(result.code, Some(1));
    assert_snapshot!(result.out, @r#"
    4 errors and 1 warning found
    error: client: `claude` not found in PATH
      hint: install Claude Code, or add `claude` to PATH
    error: hooks-enabled: no hook runs: `disableAllHooks` is true in ~/.claude/settings.json
      hint: remove `disableAllHooks` from ~/.claude/settings.json
    error: hooks-installed: teamkeep's hooks are not installed
      hint: teamkeep install
    error: policy-files: ~/.config/teamkeep/teamkeep.toml:1:5: unclosed table, expected `]`
      hint: teamkeep config check
    warning: agent-teams: agent teams are off: CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS is not set
      hint: teamkeep install --enable-teams
    hint: run `teamkeep doctor --fix` to apply the safe fixes

    17 checks passed, 7 skipped (to list them: teamkeep doctor --verbose)
    "#);
}

#[test]
#[cfg_attr(windows, ignore = "needs a pipe with a name")]
fn doctor_reports_unknown_for_a_client_that_hangs_or_prints_garbage() {
    let home = well();
    home.client("I am not well");
    assert_snapshot!(one(&home, "client"), @"unknown: `claude --version` printed no version => run `claude --version` and fix the error");
    assert_snapshot!(one(&home, "client-events"), @"unknown: supported events unknown: Claude Code version not found");
    assert_snapshot!(one(&home, "task-tools"), @"unknown: task tools unknown: Claude Code version not found");
    assert!(one(&home, "hooks-complete").starts_with("ok: "), "not knowing takes nothing away");
    std::fs::remove_file(home.at("bin/claude.says")).unwrap();
    // A pipe that nobody writes to: the client waits for its own words.
    assert!(std::process::Command::new("mkfifo").arg(home.at("bin/claude.says")).status().unwrap().success());
    let result = home.ok("doctor --json");
    assert_eq!(result.err, "waiting for `claude --version`, 10 seconds at most\n");
    assert!(result.out.contains("`claude --version` did not respond"), "{}", result.out);
}

#[test]
fn doctor_reports_events_that_make_an_old_client_skip_the_file() {
    let home = well();
    home.client("2.1.47 (Claude Code)");
    let found = of(&home, "client-events");
    let told: Vec<String> = found.iter().map(|(verdict, what, _)| format!("{verdict}: {what}")).collect();
    assert_snapshot!(told.join("\n"), @"
    bad: Claude Code 2.1.47 ignores the whole file ~/.claude/settings.json because it does not support PreSkillShellCommand, TaskCreated, StopFailure, FileChanged
    bad: Claude Code 2.1.47 does not support `args`, which 17 hooks in ~/.claude/settings.json use
    ");
    home.ok("doctor --fix");
    assert!(one(&home, "client-events").starts_with("ok: "));
    home.write(&home.read().replacen("\"hooks\": {", "\"hooks\": {\"CwdChanged\": [],", 1));
    let fix = "remove CwdChanged from ~/.claude/settings.json, or upgrade Claude Code";
    assert_eq!(of(&home, "client-events")[0].2.as_deref(), Some(fix), "it is not ours");
    home.client("2.1.77 (Claude Code)");
    assert!(one(&home, "client-events").starts_with("bad: Claude Code 2.1.77 ignores the whole file "));
    home.client("2.1.100 (Claude Code)");
    assert!(one(&home, "hooks-complete").contains("missing: TaskCreated, StopFailure"));
    home.client("2.0.1 (Claude Code)");
    assert!(one(&home, "agent-teams").starts_with("bad: Claude Code 2.0.1 has no agent teams"));
}

#[test]
fn doctor_reports_events_that_the_client_does_not_have() {
    let home = well();
    let installed = home.read();
    let theirs = "\"hooks\": {\"Bogus\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}],";
    home.write(&installed.replacen("\"hooks\": {", theirs, 1));
    assert_snapshot!(one(&home, "client-events"), @"warn: Claude Code 2.1.332 does not support Bogus in ~/.claude/settings.json; those hooks never run => remove Bogus from ~/.claude/settings.json, or correct the spelling");
    home.write(&installed.replacen("\"TeammateIdle\"", "\"Bogus\"", 1));
    assert_snapshot!(one(&home, "client-events"), @"warn: Claude Code 2.1.332 does not support Bogus in ~/.claude/settings.json; those hooks never run => teamkeep install");
    home.ok("doctor --fix");
    assert!(one(&home, "client-events").starts_with("ok: "));
    assert!(!home.read().contains("Bogus"));
}

#[test]
fn doctor_reads_switches_from_the_same_places_as_claude_code() {
    let home = Home::with("{}");
    assert!(one(&home, "agent-teams").starts_with("warn: agent teams are off: "));
    assert_snapshot!(
        one(&home, "task-tools"), @r#"warn: the task tools are off by default on current models since Claude Code 2.1.233; idle-with-work and unfinished-dependencies are inactive; premature-shutdown only warns, based on missing reports (`without-tasks` is "warn") => teamkeep install --enable-teams"#);
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    for (gate, end) in [
        ("without-tasks = \"block\"", "; premature-shutdown blocks based on missing reports"),
        ("without-tasks = \"off\"", "; premature-shutdown allows every shutdown"),
        ("mode = \"off\"", " are inactive"),
    ] {
        let file = home.at(".config/teamkeep/teamkeep.toml");
        std::fs::write(&file, format!("[policy.premature-shutdown]\n{gate}\n")).unwrap();
        assert!(of(&home, "task-tools")[0].1.ends_with(end), "{gate}");
        std::fs::remove_file(file).unwrap();
    }
    let result =
        result(home.dir.path(), home.command("doctor -v").env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1"));
    assert!(
        result.out.contains("agent teams are on (CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS in the environment)")
    );
    home.write(TEAMS);
    assert!(one(&home, "agent-teams").starts_with("ok: "));
    assert!(one(&home, "task-tools").starts_with("ok: "));
    home.write(&TEAMS.replace("\"1\"", "\"0\""));
    assert!(one(&home, "agent-teams").starts_with("warn: "));
    home.client("2.1.177 (Claude Code)");
    assert_eq!(one(&home, "task-tools"), "ok: the task tools are on by default in Claude Code 2.1.177");
    home.client("2.1.332 (Claude Code)");
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    let checks = "[[policy.completion-check.check]]\nrun = \"true\"\n";
    std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), checks).unwrap();
    assert!(one(&home, "task-tools").starts_with("bad: "), "the user's own checks would never run");
}

#[test]
fn doctor_counts_a_warning_as_a_problem_and_exits_with_0() {
    let home = Home::with("{}");
    home.ok("install");
    let result = home.ok("doctor");
    assert!(
        result.out.starts_with("2 warnings found\nwarning: agent-teams: agent teams are off: "),
        "{}",
        result.out
    );
    assert!(
        !result.out.contains("hook-command"),
        "a check that passed is listed with --verbose: {}",
        result.out
    );
    assert!(home.ok("doctor -v").out.contains("\nok      hook-command "));
}

#[test]
fn doctor_names_the_hook_that_makes_an_old_client_skip_the_file() {
    let home = well();
    let theirs = r#""hooks": {"PostToolUseFailure": [{"matcher": {"tools": ["Bash"]}, "hooks": []}],"#;
    home.write(&home.read().replacen("\"hooks\": {", theirs, 1));
    assert_snapshot!(one(&home, "hook-form"), @"warn: Claude Code 2.1.332 ignores a hook in ~/.claude/settings.json because hooks.PostToolUseFailure[0].matcher is an object, not a string => correct or remove hooks.PostToolUseFailure[0].matcher in ~/.claude/settings.json");
    home.client("2.1.47 (Claude Code)");
    assert_snapshot!(one(&home, "hook-form"), @"bad: Claude Code 2.1.47 ignores the whole file ~/.claude/settings.json because hooks.PostToolUseFailure[0].matcher is an object, not a string => correct or remove hooks.PostToolUseFailure[0].matcher in ~/.claude/settings.json");
    for check in ["hooks-installed", "hooks-complete"] {
        assert!(one(&home, check).starts_with("unknown: "), "hooks in an ignored file do not run");
    }
    assert_snapshot!(one(&home, "hooks-installed"), @"unknown: hooks in ~/.claude/settings.json do not count: Claude Code ignores the file");
    home.write(r#"{"hooks": {"Stop": null}}"#);
    assert!(of(&home, "settings")[0].0 == "bad", "not an array: it is checked there");
}
