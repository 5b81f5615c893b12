//! What all commands have in common: groups, colors, the pager, quiet, and errors instead of empty output.

use clap::CommandFactory;
use serde_json::{Value, json};
use teamkeep::cli::{Cli, GROUPS, MORE};
use teamkeep_system::error::EXIT_CODES;

use crate::support::client_files::Lead;
use crate::support::programs::write_program;
use crate::support::sandbox::Sandbox;
use crate::support::terminal::Terminal;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A store with one run of a team of four.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "parser-team");
    lead.roster(1_770_091_200_000, &["alice", "bob", "carol"]);
    lead.hook("SessionStart", json!({"source": "startup", "cwd": sandbox.home().join("parser")}));
    for turn in 0..20 {
        lead.hook("UserPromptSubmit", json!({"prompt": format!("turn {turn}")}));
        lead.hook("Stop", json!({}));
    }
    sandbox
}

#[test]
fn the_help_lists_every_command_once() {
    let sandbox = Sandbox::new();
    let listed = |groups: &[(&str, &'static [&'static str])]| -> Vec<&str> {
        groups.iter().flat_map(|(_, names)| *names).copied().collect()
    };
    assert_eq!(listed(GROUPS).len(), 17, "what a newcomer reads");
    let mut grouped = [listed(GROUPS), listed(MORE)].concat();
    grouped.sort_unstable();
    let cli = Cli::command();
    let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let mut visible: Vec<&str> =
        visible.map(clap::Command::get_name).filter(|name| *name != "help").collect();
    visible.sort_unstable();
    assert_eq!(grouped, visible);
    let help = sandbox.printed(&["--help"]);
    assert!(help.contains("\nLook at a team:\n  status    Show running teams"), "{help}");
    let all = sandbox.printed(&["help", "--all"]);
    assert!(grouped.iter().all(|name| all.contains(&format!("\n  {name} "))), "{all}");
    assert!(!help.contains("\n  prune "), "{help}");
    for line in help.lines().chain(all.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(EXIT_CODES.iter().all(|(code, about)| help.contains(&format!("\n  {code:<2}  {about}"))));
    let bare = sandbox.run(&[]);
    assert_eq!((bare.code, bare.out.as_str()), (Some(64), ""), "without a command it is a usage error");
    assert!(bare.err.contains("\nLook at a team:\n") && !bare.err.contains("Exit codes"), "{}", bare.err);
}

#[test]
fn a_store_that_cannot_be_read_is_an_error_and_not_empty() {
    let sandbox = sandbox();
    std::fs::remove_dir_all(sandbox.keep("runs")).unwrap();
    std::fs::write(sandbox.keep("runs"), "").unwrap();
    let commands: [&[&str]; 8] = [
        &["list"],
        &["list", "--json"],
        &["teams"],
        &["status", "--json"],
        &["show"],
        &["log"],
        &["report", "--json"],
        &["export", "latest", "-o", "out.tar.gz"],
    ];
    for args in commands {
        let result = sandbox.run(args);
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{args:?}");
        assert!(result.err.starts_with("error: cannot list the recorded runs: "), "{}", result.err);
        assert!(result.err.contains("\nhint: teamkeep doctor\n"), "{}", result.err);
        let aside = format!("hint: mv -n {0} {0}.aside\n", sandbox.keep("runs").display());
        assert!(result.err.ends_with(&aside), "{}", result.err);
    }
}

#[test]
fn a_log_that_cannot_be_read_is_an_error_and_not_empty() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.keep("")).unwrap();
    std::fs::write(sandbox.keep("sessions"), "").unwrap();
    for args in [["log"].as_slice(), &["show"], &["log", "--raw"]] {
        let result = sandbox.run(args);
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{args:?}");
        assert!(result.err.starts_with("error: ") && result.err.contains("/keep/sessions"), "{}", result.err);
    }
}

#[test]
fn a_pause_is_no_sign_that_hooks_work() {
    let sandbox = Sandbox::judging();
    let nothing = "error: no runs recorded yet\nhint: check the hooks: teamkeep doctor\n\
                   hint: see an example run: teamkeep demo\n";
    let last_event = || {
        let health: Value = serde_json::from_str(&sandbox.run(&["doctor", "--json"]).out).unwrap();
        let checks = health["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["code"] == "last-event").unwrap()["verdict"].clone()
    };
    let result = sandbox.run(&["resume"]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), "no active pauses or allowances\n"));
    assert!(sandbox.log().is_empty(), "nothing was resumed, so nothing is recorded");
    sandbox.run(&["pause", "5m"]);
    assert_eq!(sandbox.log().len(), 1);
    assert_eq!((sandbox.run(&["log"]).err.as_str(), last_event()), (nothing, json!("unknown")));
    assert!(sandbox.run(&["resume"]).err.starts_with("ended the pause of every gate and rule; "));
    assert_eq!((sandbox.run(&["log"]).err.as_str(), last_event()), (nothing, json!("unknown")));
}

#[test]
fn colors_are_for_a_terminal_unless_asked_for() {
    let sandbox = sandbox();
    let out = |args: &[&str], env: &[(&str, &str)]| {
        let output = sandbox.command(args).envs(env.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!out(&["list"], &[]).contains('\u{1b}'));
    assert!(out(&["list", "--color", "always"], &[]).contains('\u{1b}'));
    assert!(out(&["--color=always", "list"], &[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(out(&["list"], &[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert!(!out(&["list", "--color", "never"], &[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert_eq!(sandbox.run(&["list", "--color", "blue"]).code, Some(64));
}

#[test]
fn a_quiet_command_prints_errors_only() {
    let sandbox = sandbox();
    let result = sandbox.run(&["-q", "resume"]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    assert_eq!(sandbox.run(&["show", "nowhere", "--quiet"]).err, "error: no run matches \"nowhere\"\n");
}

#[test]
fn long_output_on_a_terminal_goes_through_the_pager() {
    let sandbox = sandbox();
    let page = sandbox.home().join("page");
    let pager = format!("cat > {}", page.display());
    let env = [("TEAMKEEP_PAGER", pager.as_str()), ("PAGER", "false")];
    for args in [["log", "latest"].as_slice(), &["log", "--raw", "latest"]] {
        let mut terminal = Terminal::run(&sandbox, args, &env);
        let status = terminal.child.wait().unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(status.success() && text.lines().count() > 24 && text.contains("turn 19"), "{text}");
        assert!(text.contains('\u{1b}'), "with colors");
        std::fs::remove_file(&page).unwrap();
        let mut terminal = Terminal::run(&sandbox, &[args, &["--json"]].concat(), &env);
        terminal.until_end();
        assert!(terminal.told.lines().count() > 24 && !page.exists(), "not for programs: {}", terminal.told);
    }
    let mut terminal = Terminal::run(&sandbox, &["log", "--no-pager"], &env);
    terminal.until("turn 19");
    let mut terminal = Terminal::run(&sandbox, &["show"], &env);
    terminal.until("carol");
    assert!(!page.exists(), "what fits on the screen needs no pager");
    let closed = Terminal::run(&sandbox, &["log", "--raw"], &[("TEAMKEEP_PAGER", "true")]).end();
    assert_eq!((closed.code, closed.err.as_str()), (Some(0), ""), "a pager that ends early is no failure");
    let missing = Terminal::run(&sandbox, &["log", "--raw"], &[("TEAMKEEP_PAGER", "no-such-pager")]).end();
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("the pager cannot be started; use --no-pager"), "{}", missing.err);
}

#[test]
fn completion_offers_no_name_that_a_shell_would_run() {
    let sandbox = Sandbox::new();
    for (session, team) in
        [(ONE, "parser-team"), ("bbbbbbbb-0000-4000-8000-000000000002", "zz$(touch owned)")]
    {
        let lead = Lead::named(&sandbox, session, team);
        lead.roster(1_770_091_200_000, &["alice", "b;id", "--help", "b*", "c\u{1b}[31m"]);
        lead.start("startup");
    }
    let offered = |words: &[&str]| -> Vec<String> {
        let mut command = sandbox.command(&[&["--", "teamkeep"], words].concat());
        let output = command.env("TEAMKEEP_COMPLETE", "fish").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    let teams = offered(&["show", ""]);
    assert!(teams.iter().any(|name| name == "parser-team"), "{teams:?}");
    let agents = offered(&["log", "--agent", ""]);
    assert!(agents.iter().any(|name| name == "alice"), "{agents:?}");
    let is_unsafe = |name: &&String| name.contains(['$', ';', '*', '\u{1b}']);
    assert_eq!(teams.iter().chain(&agents).find(is_unsafe), None);
    assert!(!agents.iter().any(|name| name == "--help"), "{agents:?}");
}

#[test]
fn list_filters_by_project_and_time() {
    let sandbox = sandbox();
    let rows = |args: &[&str]| -> Vec<Value> {
        let all = [&["list", "--json"], args].concat();
        serde_json::from_str(&sandbox.printed(&all)).unwrap()
    };
    let project = sandbox.home().join("parser");
    assert_eq!(rows(&[])[0]["project"], json!(project));
    assert_eq!(rows(&["--project", "."]).len(), 1, "the current directory");
    assert_eq!(rows(&["--project", project.to_str().unwrap()]).len(), 1);
    assert_eq!(rows(&["--project", "parser"]).len(), 1, "by its name");
    assert_eq!(rows(&["--project", "lexer"]).len(), 0);
    assert_eq!(rows(&["--until", "2026-02-03T04:05:00Z"]).len(), 0);
    assert_eq!(rows(&["--since", "1h", "-n", "3"]).len(), 1);
    assert_eq!(sandbox.printed(&["ls"]), sandbox.printed(&["teams"]));
    let other = sandbox.run(&["list", "--project", "lexer"]);
    assert!(other.err.starts_with("no runs match these filters\nhint: known projects: "), "{}", other.err);
}

#[test]
fn the_log_of_a_run_has_its_events_only() {
    let sandbox = sandbox();
    let other = Lead::named(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002", "lexer-team");
    other.roster(1_770_091_300_000, &["dave"]);
    other.start("startup");
    let lines = |args: &[&str]| sandbox.printed(args).lines().filter(|line| !line.contains("UTC")).count();
    assert_eq!(lines(&["log", "--raw"]), 42);
    assert_eq!(lines(&["log", "--raw", "parser-team"]), 41);
    assert_eq!(lines(&["log", "--raw", "lexer-team"]), 1);
    assert_eq!(lines(&["log", "--raw", "parser-team", "--event", "stop"]), 20);
    assert_eq!(lines(&["log", "--raw", "parser-team", "-n", "3"]), 3);
    assert_eq!(sandbox.run(&["log", "--raw", "nowhere"]).code, Some(1));
}

#[test]
fn an_unknown_value_of_a_filter_is_an_error_with_a_suggestion() {
    let sandbox = sandbox();
    let err = |args: &[&str]| {
        let result = sandbox.run(args);
        assert!(result.code != Some(0) && result.out.is_empty(), "{args:?}: {}", result.out);
        result.err
    };
    let event = err(&["log", "--raw", "--event", "stop", "--event", "SubagentStopp"]);
    assert_eq!(event, "error: unknown event \"SubagentStopp\"\nhint: did you mean \"SubagentStop\"?\n");
    let team = err(&["log", "--raw", "--team", "parser-taem"]);
    assert_eq!(team, "error: unknown team \"parser-taem\"\nhint: did you mean \"parser-team\"?\n");
    let actor = "error: unknown agent \"zaphod\"\nhint: known agents: helper, lead, subagent, ";
    assert!(err(&["log", "--raw", "--agent", "zaphod"]).starts_with(actor));
    let kind = err(&["log", "--kind", "mesage"]);
    assert_eq!(kind, "error: unknown kind \"mesage\"\nhint: did you mean \"message\"?\n");
    let gate = err(&["pause", "protect-led", "5m"]);
    assert_eq!(gate, "error: unknown gate \"protect-led\"\nhint: did you mean \"protect-lead\"?\n");
}

#[test]
fn a_report_is_opened_in_the_browser() {
    let sandbox = sandbox();
    let bin = sandbox.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let none =
        sandbox.command(&["report", "--open", "-o", "report.html"]).env("PATH", &bin).output().unwrap();
    let err = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(err.contains("xdg-open or wslview is not installed"), "{err}");
    assert!(err.contains("hint: open it in a browser: report.html"), "{err}");
    let opened = sandbox.home().join("opened");
    let script = format!(
        "#!/bin/sh\nls -l \"$1\" | cut -c1-10 > {0}; head -c 15 \"$1\" >> {0}; rm \"$1\"\n",
        opened.display()
    );
    write_program(&bin.join("xdg-open"), script);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = sandbox.command(&["report", "--open"]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = std::fs::read_to_string(opened).unwrap().to_lowercase();
    assert_eq!(seen, "-rw-------\n<!doctype html>", "a page that only the user can read");
}

#[test]
fn a_hook_call_takes_no_part_in_completion() {
    let sandbox = Sandbox::new();
    let payload = json!({"hook_event_name": "Stop", "session_id": ONE}).to_string();
    let result = sandbox.feed("stop", payload.as_bytes(), &[("TEAMKEEP_COMPLETE", "bash")]);
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{}", result.err);
    assert_eq!(sandbox.log().len(), 1, "it is recorded");
}
