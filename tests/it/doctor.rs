//! `teamkeep doctor`, run as a user runs it, in a home of its own.

use insta::assert_snapshot;
use serde_json::{Value, json};
use teamkeep::doctor::{Code, Verdict};

use crate::home::{Home, said};

/// Settings of somebody who uses teams.
pub const TEAMS: &str = "{\n  \"env\": {\n    \"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS\": \"1\",\n    \"CLAUDE_CODE_ENABLE_TODO_TOOLS\": \"1\"\n  }\n}\n";

/// A home in which all is well.
pub fn well() -> Home {
    let home = Home::with(TEAMS);
    home.ok("install");
    home
}

/// What `doctor --json` says, and its exit code, which must agree.
pub fn examined(home: &Home, line: &str) -> Value {
    let said = home.run(line);
    let value: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err));
    assert_eq!(said.code, Some(i32::from(value["well"] == false)), "{}", said.out);
    assert_eq!(value["well"] == true, value["bad"] == 0);
    value
}

/// The findings of one check: verdict and line.
pub fn of(home: &Home, code: &str) -> Vec<(String, String, Option<String>)> {
    let value = examined(home, "doctor --json");
    let checks = value["checks"].as_array().unwrap().iter().filter(|check| check["code"] == code);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks
        .map(|check| {
            (text(&check["verdict"]), text(&check["what"]), check["mend"].as_str().map(str::to_owned))
        })
        .collect()
}

/// The one finding of a check, as `verdict: line => mend`.
pub fn one(home: &Home, code: &str) -> String {
    let found = of(home, code);
    assert_eq!(found.len(), 1, "{found:?}");
    let (verdict, what, mend) = &found[0];
    format!("{verdict}: {what}{}", mend.as_ref().map_or(String::new(), |mend| format!(" => {mend}")))
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

#[test]
fn all_is_well_after_an_install() {
    let home = well();
    let before = home.everything();
    let said = home.ok("doctor");
    assert_snapshot!(numbers(&said.out), @"
    ok      client             client 2.1.328 (~/bin/claude)
    ok      client-events      client 2.1.328 knows the events of all 15 hooks
    ok      agent-teams        agent teams are on, by CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS in ~/.claude/settings.json
    ok      task-tools         the task tools are on, by CLAUDE_CODE_ENABLE_TODO_TOOLS in ~/.claude/settings.json
    ok      settings           the client can read 1 settings file: ~/.claude/settings.json
    ok      hooks-enabled      no setting keeps hooks from running
    ok      hooks-installed    15 hooks in ~/.claude/settings.json
    ok      hooks-complete     all 15 events that client 2.1.328 has are recorded
    ok      hooks-twice        no event runs two hooks of ours
    ok      hook-matcher       every matcher lets through what is recorded
    ok      session-end-budget the SessionEnd hook has a `timeout` of 30 s
    ok      hook-command       the hooks run ~/bin/teamkeep
    ok      hook-answer        ~/bin/teamkeep recorded and answered a payload in N ms
    ok      search-path        `teamkeep` is ~/bin/teamkeep
    ok      versions           teamkeep 0.1.0 is the only one
    ok      policy-files       no configuration file: the defaults are in force
    ok      policy-trust       this project has no policy file
    ok      rules-asked        there are no rules
    ok      store-private      ~/.local/share/teamkeep is the user's alone
    ok      store-writable     ~/.local/share/teamkeep can be written
    ok      store-room         N GB are free at ~/.local/share/teamkeep
    unknown last-event         nothing is on record yet: the first session with hooks begins it
    unknown newest-run         no run is on record yet
    ok      own-failures       hook calls had nothing to complain of in the last 24 hours
    ok      task-lists         every task of the running teams is in a task list that the hooks know
    ok      stale-teams        no team directory of a client that is gone

    24 ok, 2 unknown: all well
    ");
    assert_eq!(said.err, "");
    assert_eq!(home.everything(), before, "nothing was changed");
    let value = examined(&home, "doctor --json");
    assert_eq!((&value["v"], &value["fixed"]), (&json!(1), &json!([])));
}

#[test]
fn every_check_is_told_in_its_order() {
    for home in [Home::new(), well()] {
        let value = examined(&home, "doctor --json");
        let mut told: Vec<&str> =
            value["checks"].as_array().unwrap().iter().map(|check| check["code"].as_str().unwrap()).collect();
        told.dedup();
        assert_eq!(told, Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>());
        for verdict in Verdict::ALL {
            let count = value["checks"].as_array().unwrap().iter();
            let count = count.filter(|check| check["verdict"] == verdict.word()).count();
            assert_eq!(value[verdict.word()], count, "{verdict:?}");
        }
    }
}

#[test]
fn what_is_broken_is_told_with_what_mends_it() {
    let home = Home::new();
    std::fs::remove_file(home.at("bin/claude")).unwrap();
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), "[log\n").unwrap();
    home.write("{\"disableAllHooks\": true}");
    let said = home.run("doctor");
    assert_eq!(said.code, Some(1));
    let bad: Vec<&str> =
        said.out.lines().filter(|line| line.starts_with("bad ") || line.starts_with("hint:")).collect();
    assert_snapshot!(bad.join("\n"), @r#"
    bad     client             no `claude` was found on the search path
    bad     hooks-enabled      no hook runs: `disableAllHooks` is true in ~/.claude/settings.json
    bad     hooks-installed    there are no hooks of ours in any settings file that the client reads
    bad     policy-files       ~/.config/teamkeep/teamkeep.toml:1:5: unclosed table, expected `]`
    hint: install Claude Code, or put `claude` on the search path  # client
    hint: put "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1" into "env" in ~/.claude/settings.json  # agent-teams
    hint: take `disableAllHooks` out of ~/.claude/settings.json  # hooks-enabled
    hint: teamkeep install  # hooks-installed
    hint: teamkeep policy check  # policy-files
    hint: teamkeep doctor --fix, which does what is safe of this
    "#);
    assert!(said.out.ends_with("there is something to mend\n"), "{}", said.out);
}

#[test]
fn a_client_that_hangs_or_prints_nonsense_is_unknown_and_so_is_what_depends_on_it() {
    let home = well();
    home.client("I am not well");
    assert_snapshot!(one(&home, "client"), @"unknown: `claude --version` named no version => claude --version, and mend what it says");
    assert_snapshot!(one(&home, "client-events"), @"unknown: which events the client knows cannot be told without its version");
    assert_snapshot!(one(&home, "task-tools"), @"unknown: whether the task tools are on cannot be told without the version");
    assert!(one(&home, "hooks-complete").starts_with("ok: "), "not knowing takes nothing away");
    std::fs::remove_file(home.at("bin/claude.says")).unwrap();
    // A pipe that nobody writes to: the client waits for its own words.
    assert!(std::process::Command::new("mkfifo").arg(home.at("bin/claude.says")).status().unwrap().success());
    let said = home.ok("doctor --json");
    assert_eq!(said.err, "waiting for `claude --version`, 10 seconds at most\n");
    assert!(said.out.contains("`claude --version` gave no answer"), "{}", said.out);
}

#[test]
fn what_an_old_client_does_not_know_is_told_before_it_skips_the_file() {
    let home = well();
    home.client("2.1.47 (Claude Code)");
    let found = of(&home, "client-events");
    let told: Vec<String> = found.iter().map(|(verdict, what, _)| format!("{verdict}: {what}")).collect();
    assert_snapshot!(told.join("\n"), @"
    bad: client 2.1.47 skips all of ~/.claude/settings.json, because it does not know TaskCreated, StopFailure, FileChanged
    bad: client 2.1.47 reads no `args`, which 15 hooks in ~/.claude/settings.json have
    ");
    home.ok("doctor --fix");
    assert!(one(&home, "client-events").starts_with("ok: "));
    home.write(&home.read().replacen("\"hooks\": {", "\"hooks\": {\"CwdChanged\": [],", 1));
    let mend = "take CwdChanged out of ~/.claude/settings.json, or upgrade the client";
    assert_eq!(of(&home, "client-events")[0].2.as_deref(), Some(mend), "it is not ours");
    home.client("2.1.77 (Claude Code)");
    assert!(one(&home, "client-events").starts_with("bad: client 2.1.77 skips all of "));
    home.client("2.1.100 (Claude Code)");
    assert!(one(&home, "hooks-complete").starts_with("warn: there is no hook for TaskCreated, StopFailure"));
    home.client("2.0.1 (Claude Code)");
    assert!(one(&home, "agent-teams").starts_with("bad: client 2.0.1 has no agent teams"));
}

#[test]
fn an_event_that_the_client_does_not_have_is_told_whoever_put_it_there() {
    let home = well();
    let installed = home.read();
    let theirs = "\"hooks\": {\"Bogus\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}],";
    home.write(&installed.replacen("\"hooks\": {", theirs, 1));
    assert_snapshot!(one(&home, "client-events"), @"warn: client 2.1.328 does not know Bogus in ~/.claude/settings.json, and never runs those hooks => take Bogus out of ~/.claude/settings.json, or spell it as the client does");
    home.write(&installed.replacen("\"TeammateIdle\"", "\"Bogus\"", 1));
    assert_snapshot!(one(&home, "client-events"), @"warn: client 2.1.328 does not know Bogus in ~/.claude/settings.json, and never runs those hooks => teamkeep install");
    home.ok("doctor --fix");
    assert!(one(&home, "client-events").starts_with("ok: "));
    assert!(!home.read().contains("Bogus"));
}

#[test]
fn switches_are_read_where_the_client_reads_them() {
    let home = Home::with("{}");
    assert!(one(&home, "agent-teams").starts_with("warn: agent teams are off: "));
    assert_snapshot!(
        one(&home, "task-tools"), @r#"warn: from 2.1.233 on the task tools are off on current models; then unfinished-dependencies, idle-with-work are never asked; premature-shutdown goes by who has not reported, and only warns (`without-tasks` is "warn") => put "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1" into "env" in ~/.claude/settings.json"#);
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    for (gate, end) in [
        ("without-tasks = \"block\"", "; premature-shutdown goes by who has not reported"),
        ("without-tasks = \"off\"", "; premature-shutdown lets everybody be stopped"),
        ("mode = \"off\"", " are never asked"),
    ] {
        let file = home.at(".config/teamkeep/teamkeep.toml");
        std::fs::write(&file, format!("[policy.premature-shutdown]\n{gate}\n")).unwrap();
        assert!(of(&home, "task-tools")[0].1.ends_with(end), "{gate}");
        std::fs::remove_file(file).unwrap();
    }
    let said = said(home.dir.path(), home.command("doctor").env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1"));
    assert!(
        said.out.contains("agent teams are on, by CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS in the environment")
    );
    home.write(TEAMS);
    assert!(one(&home, "agent-teams").starts_with("ok: "));
    assert!(one(&home, "task-tools").starts_with("ok: "));
    home.write(&TEAMS.replace("\"1\"", "\"0\""));
    assert!(one(&home, "agent-teams").starts_with("warn: "));
    home.client("2.1.177 (Claude Code)");
    assert_eq!(one(&home, "task-tools"), "ok: client 2.1.177 has its task tools on");
    home.client("2.1.328 (Claude Code)");
    std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
    let checks = "[[policy.completion-check.check]]\nrun = \"true\"\n";
    std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), checks).unwrap();
    assert!(one(&home, "task-tools").starts_with("bad: "), "the user's own checks would never run");
}
