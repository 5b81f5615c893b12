//! Messages on stderr have one form, name what is wrong, and end in something to do.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, feed};
use crate::support::terminal::Terminal;

const SESSION: &str = "1353b3db-0000-4000-8000-000000000001";

fn stage() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.task("1", "completed", Some("alice"));
    lead.task("2", "in_progress", Some("bob"));
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    sandbox
}

/// What a command line that cannot be parsed prints.
fn usage(sandbox: &Sandbox, line: &str) -> String {
    let args: Vec<&str> = line.split(' ').collect();
    let result = sandbox.run(&args);
    assert_eq!((result.code, result.out.as_str()), (Some(64), ""), "{line}");
    result.err
}

#[test]
fn a_command_line_that_cannot_be_parsed_is_reported_as_every_other_error() {
    let sandbox = Sandbox::new();
    for (line, wanted) in [
        ("timeline", "error: unknown command \"timeline\"\nhint: did you mean `teamkeep log`?\n"),
        ("history", "error: unknown command \"history\"\nhint: did you mean `teamkeep log`?\n"),
        ("cost", "error: unknown command \"cost\"\nhint: did you mean `teamkeep report`?\n"),
        ("undo", "error: unknown command \"undo\"\nhint: did you mean `teamkeep restore --undo`?\n"),
        ("stauts", "error: unknown command \"stauts\"\nhint: did you mean `teamkeep status`?\n"),
        ("zzzzzz", "error: unknown command \"zzzzzz\"\nhint: list the commands: teamkeep help --all\n"),
        ("policy tset", "error: unknown command \"tset\"\nhint: did you mean `teamkeep policy test`?\n"),
        ("log --involvin bob", "error: unknown option \"--involvin\"\nhint: did you mean --involving?\n"),
        ("log --zzzzzz", "error: unknown option \"--zzzzzz\"\nhint: see: teamkeep log --help\n"),
        (
            "status parser-team",
            "error: unexpected argument \"parser-team\"\nhint: status shows all running teams\n\
             hint: for one run: teamkeep watch parser-team, teamkeep show parser-team\n",
        ),
        ("report a b", "error: unexpected argument \"b\"\nhint: usage: teamkeep report [OPTIONS] [RUN]\n"),
        ("blame", "error: missing <FILE[:LINE]>\nhint: usage: teamkeep blame <FILE[:LINE]>\n"),
        (
            "restore latest --tasks",
            "error: missing value of --tasks <TEAM|SESSION>\n\
             hint: restore the tasks into the task list of this team or session. Default: of a new session\n",
        ),
        (
            "log --json --format text",
            "error: --json cannot be combined with --format <FORMAT>\nhint: see: teamkeep log --help\n",
        ),
        ("report --full --full", "error: --full is given twice\nhint: see: teamkeep report --help\n"),
        (
            "completions tcsh",
            "error: invalid value \"tcsh\" for SHELL; expected one of bash, elvish, fish, powershell, zsh\n",
        ),
        (
            "log --format jsn",
            "error: invalid value \"jsn\" for --format <FORMAT>; expected one of text, json, mermaid\n\
             hint: did you mean \"json\"?\n",
        ),
    ] {
        assert_eq!(usage(&sandbox, line), wanted, "{line}");
    }
}

#[test]
fn a_number_that_an_option_does_not_take_is_reported_with_those_that_it_takes() {
    let sandbox = Sandbox::new();
    for (line, option, wanted) in [
        ("list -n 0", "--limit <COUNT>", "1 or more"),
        ("log -n 0", "--limit <COUNT>", "1 or more"),
        ("log -n -3", "--limit <COUNT>", "1 or more"),
        ("prune --keep -1", "--keep <COUNT>", "0 or more"),
        ("prune --keep x", "--keep <COUNT>", "0 or more"),
        ("brief --max-bytes 10", "--max-bytes <BYTES>", "500 or more"),
    ] {
        let value = line.rsplit(' ').next().unwrap();
        let error = format!("error: invalid value {value:?} for {option}: expected a number of {wanted}\n");
        assert_eq!(usage(&sandbox, line), error, "{line}");
    }
    assert!(usage(&sandbox, "search x -n 0").ends_with(": expected a number from 1 to 1000\n"));
}

#[test]
fn a_store_that_does_not_exist_is_named_with_the_variable_that_names_it() {
    let sandbox = Sandbox::new();
    let store = sandbox.keep("").display().to_string();
    let missing =
        format!("the store {}, which TEAMKEEP_HOME names, does not exist", store.trim_end_matches('/'));
    for (line, first) in [
        ("list", format!("no runs recorded yet: {missing}")),
        ("log", format!("error: no runs recorded yet: {missing}")),
        ("search word", format!("no matches: no runs recorded yet: {missing}")),
        ("status", format!("warning: {missing}")),
        ("log --raw", format!("warning: {missing}")),
        ("verify", format!("warning: {missing}")),
        ("pause 1h", format!("warning: {missing}")),
    ] {
        let result = sandbox.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(result.err.lines().next(), Some(first.as_str()), "{line}");
    }
    assert!(sandbox.keep("overrides.json").is_file(), "a pause creates it");
    let mut usual = sandbox.command(&["list"]);
    let result: CommandResult = usual.env_remove("TEAMKEEP_HOME").output().unwrap().into();
    let store = sandbox.home().join(".local/share/teamkeep");
    assert!(result.err.contains(&format!(": the store {} does not exist\n", store.display())), "{result:?}");
}

#[test]
fn a_store_that_is_not_a_directory_is_reported_by_commands_and_hooks() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.keep("").to_str().unwrap().trim_end_matches('/'), "a file").unwrap();
    let store = sandbox.keep("").display().to_string().trim_end_matches('/').to_owned();
    let fix = format!("set TEAMKEEP_HOME, which names {store}, to a directory, or unset it");
    for line in ["list", "log", "log --raw", "status", "search x", "verify", "prune", "pause 1h", "allow bob"]
    {
        let result = sandbox.run(&line.split(' ').collect::<Vec<_>>());
        let wanted = format!("error: the store {store} is not a directory\nhint: {fix}\n");
        assert_eq!((result.code, result.err), (Some(1), wanted), "{line}");
    }
    let result = sandbox.feed("stop", br#"{"hook_event_name":"Stop","session_id":"s1"}"#, &[]);
    assert_eq!((result.code, result.err.lines().count()), (Some(1), 1));
    assert!(result.err.ends_with(&format!("; hint: {fix}\n")), "{}", result.err);
}

#[test]
fn a_hook_call_that_somebody_typed_is_explained_and_not_recorded() {
    let sandbox = Sandbox::new();
    let explained = || {
        let result = Terminal::of(sandbox.command(&["hook"])).end();
        assert_eq!(result.code, Some(64), "{result:?}");
        assert!(result.err.starts_with("error: a hook call needs a payload on stdin"), "{result:?}");
        assert!(result.err.contains("\nhint: Claude Code runs this command; "), "{result:?}");
        assert!(!sandbox.keep("").exists(), "nothing is recorded");
    };
    explained();
    sandbox.hook_by_command_line();
    explained();
    let with_event = Terminal::of(sandbox.command(&["hook", "stop"])).end();
    assert!(with_event.code == Some(64) && !sandbox.keep("").exists());
}

#[test]
fn invalid_json_is_reported_by_its_place() {
    let sandbox = Sandbox::new();
    for (payload, why) in [
        ("hello", "invalid JSON at line 1 column 1"),
        ("{\"a\": tru}", "invalid JSON at line 1 column 10"),
        ("{\"a\":", "invalid JSON: it ends too early, at line 1 column 5"),
    ] {
        let result = sandbox.feed("stop", payload.as_bytes(), &[]);
        assert!(result.err.contains(&format!("({why})")), "{}", result.err);
    }
}

#[test]
fn what_is_not_an_export_is_reported_with_the_command_that_writes_one() {
    let sandbox = Sandbox::new();
    let hint = "hint: to write one: teamkeep export RUN -o FILE\n";
    for other in [&b""[..], b"a text, and not an archive"] {
        let result = feed(&mut sandbox.command(&["import", "-"]), other);
        let begin = "error: cannot import stdin: not a complete teamkeep export: ";
        assert!(result.code == Some(1) && result.err.starts_with(begin), "{}", result.err);
        assert!(result.err.ends_with(hint), "{}", result.err);
    }
    std::fs::write(sandbox.home().join("parser/empty"), "").unwrap();
    let file = sandbox.run(&["search", "x", "--file", "empty"]);
    assert!(file.err.starts_with("error: cannot read empty: not a complete"), "{}", file.err);
    assert!(file.err.ends_with(hint), "{}", file.err);
}

#[test]
fn a_configuration_that_cannot_be_used_has_one_command_that_lists_its_problems() {
    let sandbox = stage();
    sandbox.write_config("[hook]\none = 1\ntwo = 2\nthree = 3\n");
    let result = sandbox.run(&["list"]);
    assert_eq!(result.code, Some(0));
    assert_eq!(result.err.matches("teamkeep config check").count(), 1, "{}", result.err);
    assert!(result.err.ends_with("\nhint: until it is fixed, the defaults are used\n"), "{}", result.err);
}

#[test]
fn what_needs_another_environment_is_a_failure_and_not_a_usage_error() {
    let sandbox = stage();
    for line in ["watch", "config test-notify"] {
        let result = sandbox.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(result.code, Some(1), "{line}: {}", result.err);
    }
}

#[test]
fn every_dry_run_ends_with_the_command_that_does_it() {
    let sandbox = stage();
    Lead::of(&sandbox, SESSION).end("prompt_input_exit");
    sandbox.finish();
    let program = env!("CARGO_BIN_EXE_teamkeep");
    let run = sandbox.library().runs[0].run.clone();
    for (line, would, done) in [
        ("restore latest", "would restore 1 task", "written"),
        ("prune --keep 0", "would delete 1 run (", "deleted"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let result = sandbox.run(&args);
        assert!(result.out.contains(would), "{}", result.out);
        // A restore names the run, which another one may follow.
        let named = line.replace("restore latest", &format!("restore {run}"));
        let command = format!("to do it: {program} {named} --yes\n");
        // A restore without options is a preview by design.
        let (code, error) = match line.starts_with("restore") {
            true => (0, String::new()),
            false => (
                1,
                format!(
                    "error: dry run only: nothing was {done}\nhint: pass --yes to do it, or --dry-run to exit with 0\n"
                ),
            ),
        };
        assert_eq!((result.code, result.err), (Some(code), format!("{command}{error}")), "{line}");
        let asked = sandbox.run(&[&args[..], &["--dry-run"]].concat());
        assert_eq!((asked.code, asked.err), (Some(0), command), "{line}");
    }
    let files = sandbox.run(&["restore", "latest", "--files", "a copy", "--dry-run"]);
    assert_eq!(
        (files.code, files.err),
        (Some(0), format!("to do it: {program} restore latest --files 'a copy'\n"))
    );
    assert!(!sandbox.home().join("parser/a copy").exists());
    let nothing = sandbox.run(&["prune", "--keep", "9", "--yes"]);
    assert_eq!(
        (nothing.code, nothing.out.as_str(), nothing.err.as_str()),
        (Some(0), "nothing to delete\n", "")
    );
}

#[test]
fn an_empty_result_is_one_lower_case_line() {
    let sandbox = stage();
    for line in [
        "list --since 2030-01-01 --until 2026-02-03",
        "log --since +9h",
        "log --raw --session zzz",
        "search nosuchword",
        "files latest",
    ] {
        let result = sandbox.run(&line.split(' ').collect::<Vec<_>>());
        let first = result.err.lines().next().unwrap_or_default();
        assert!(
            result.code == Some(0) && first.starts_with(|c: char| c.is_lowercase()),
            "{line}: {result:?}"
        );
        assert!(!first.ends_with('.'), "{line}: {first}");
    }
    Lead::of(&sandbox, SESSION).end("prompt_input_exit");
    assert!(
        sandbox.printed(&["status"]).starts_with("no running teams; to see the last run: teamkeep log\n")
    );
}

/// The lines that a command prints on a terminal.
fn on_terminal(command: Command, columns: u16) -> Vec<String> {
    let mut terminal = Terminal::with_errors(command, columns);
    terminal.read_all();
    let plain = anstream::adapter::strip_str(&terminal.told).to_string();
    plain.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn messages_wrap_at_the_width_of_the_terminal_with_a_hanging_indent_and_not_in_a_pipe() {
    let sandbox = stage();
    let args = ["show", "latest", "--at", "noon"];
    let lines = on_terminal(sandbox.command(&args), 60);
    assert!(lines.len() > 3 && lines.iter().all(|line| line.chars().count() <= 60), "{lines:?}");
    assert_eq!(lines[0], "error: invalid time \"noon\"");
    assert!(
        lines[1].starts_with("hint: expected ") && lines[2..].iter().all(|line| line.starts_with("      "))
    );
    let wide = on_terminal(sandbox.command(&args), 240);
    assert!(wide.iter().all(|line| line.chars().count() <= 100) && wide.len() > 2, "{wide:?}");
    let piped = sandbox.run(&args);
    assert_eq!(piped.err.lines().count(), 2, "{}", piped.err);
    let joined = lines[1..].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    assert_eq!(piped.err.lines().nth(1), Some(joined.as_str()));
}

#[test]
fn a_command_in_a_message_is_not_broken() {
    let sandbox = stage();
    let long = "a-directory-whose-name-is-long-enough/".repeat(3);
    let lines = on_terminal(sandbox.command(&["restore", "latest", "--files", &long, "--dry-run"]), 50);
    let wanted = format!("{} restore latest --files {long}", env!("CARGO_BIN_EXE_teamkeep"));
    assert!(lines.iter().any(|line| line.trim_start() == wanted), "{lines:?}");
    let mut status = sandbox.command(&["list", "--since", "2030-01-01", "--until", "2026-02-03"]);
    let result = status.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(result.stderr).unwrap(), "no runs match these filters\n");
}
