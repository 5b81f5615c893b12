//! The bundled example run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::programs::{copy_programs, program_name, write_program};
use crate::support::sandbox::{CommandResult, Sandbox};
use crate::support::terminal::Terminal;

/// A kept demo: where it is, and what was printed.
struct Demo {
    sandbox: Sandbox,
    dir: PathBuf,
    printed: String,
}

impl Demo {
    fn kept() -> Demo {
        let sandbox = Sandbox::new();
        let dir = sandbox.home().join("my demo");
        let printed = sandbox.printed(&["demo", "--keep", dir.to_str().unwrap()]);
        Demo { sandbox, dir, printed }
    }

    /// The lines to type.
    fn commands(&self) -> Vec<&str> {
        self.printed.lines().filter_map(|line| line.strip_prefix("  ")).collect()
    }

    /// Runs a command on the demo's store, in its project.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        command.env("TEAMKEEP_HOME", &self.dir).current_dir(self.project());
        command
    }

    fn run(&self, args: &[&str]) -> CommandResult {
        CommandResult::from(self.command(args).output().unwrap())
    }

    fn json(&self, args: &[&str]) -> Value {
        let result = self.run(&[args, &["--json"]].concat());
        assert_eq!(result.code, Some(0), "{result:?}");
        serde_json::from_str(&result.out).unwrap()
    }

    fn project(&self) -> PathBuf {
        self.dir.join("home/tomlfmt")
    }

    /// The task lists of the run's Claude Code.
    fn task_lists(&self) -> usize {
        std::fs::read_dir(self.dir.join("home/.claude/tasks")).unwrap().count()
    }
}

#[test]
fn the_demo_prints_in_one_screen_what_went_wrong_and_what_to_try() {
    let Demo { sandbox, dir, printed } = Demo::kept();
    let program = env!("CARGO_BIN_EXE_teamkeep");
    let shown = printed.replace(dir.to_str().unwrap(), "DIR").replace(program, "teamkeep");
    insta::assert_snapshot!(shown, @"
    A recorded run of Claude Code and teamkeep:
    Build tomlfmt, a formatter for TOML files that keeps comments

    3 of 7 tasks done in 56 min, $1.78. The incidents:
    - bob was shut down with #2 in progress for 42 min; #2 and #6 were never completed
    - carol was silent for 41 min with #5 in progress; 2 messages waited for it; #5 and #7 were never completed

    Try it on this run, in its project:
      cd 'DIR/home/tomlfmt'
      export TEAMKEEP_HOME='DIR'
      teamkeep report                # what went wrong, and what it cost
      teamkeep report --open         # the same as a page with a timeline
      teamkeep log --involving bob   # the actions of bob, and the blocks
      teamkeep watch                 # the board, at any moment of the run
      teamkeep search escapes        # all messages with a word
      teamkeep files --shared        # the files that two agents changed
      teamkeep blame src/format.rs   # who wrote each line, and for which task
      teamkeep restore               # how to continue the lost tasks

    `restore --yes` writes to this run's own task lists, not to yours. Afterwards:
      cd ~; unset TEAMKEEP_HOME; rm -r 'DIR'
    ");
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(!sandbox.keep("").exists(), "the user's store is not touched");
    assert!(!sandbox.client("tasks").exists(), "nor is the user's Claude Code");
}

#[test]
fn all_commands_of_the_demo_can_be_pasted_into_one_shell() {
    let demo = Demo::kept();
    let commands = demo.commands();
    let tried = ["report", "log", "watch", "search", "files", "blame", "restore"];
    assert!(tried.iter().all(|word| commands.iter().any(|line| line.contains(&format!(" {word}")))));
    let mut shell = Command::new("sh");
    demo.sandbox.dress(&mut shell);
    // A board and a browser need a terminal. A preview in a pipe is an error unless it is asked for.
    let script = commands
        .iter()
        .filter(|line| {
            !line.contains(" watch") && !line.contains(" report --open") && !line.contains(" install")
        })
        .map(|line| line.replace(" restore ", " restore --dry-run "))
        .collect::<Vec<_>>()
        .join("\n");
    let output = shell.args(["-ec", &script]).output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{script}\n{out}\n{err}");
    for part in [
        "Incidents",
        "premature-shutdown",
        "Are escapes decoded?",
        "src/format.rs",
        "Kind::Comment",
        "Write the formatter",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    assert!(!demo.dir.exists(), "the last command deletes it");
}

#[test]
fn a_demo_without_a_directory_is_in_a_new_temporary_one() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.home().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    for count in 1..3 {
        let output = sandbox.command(&["demo"]).env("TMPDIR", &temporary).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let made: Vec<PathBuf> =
            std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(made.len(), count, "{printed}");
        assert!(
            made.iter().any(|dir| printed.contains(&format!("export TEAMKEEP_HOME={}\n", dir.display())))
        );
    }
}

#[test]
fn a_demo_is_kept_only_in_an_empty_directory() {
    let Demo { sandbox, dir, .. } = Demo::kept();
    let again = sandbox.run(&["demo", "--keep", dir.to_str().unwrap()]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("the directory is not empty"), "{}", again.err);
    assert!(again.err.contains("\nhint: it has a demo: export TEAMKEEP_HOME="), "{}", again.err);
    let (file, missing) = (sandbox.home().join("file"), sandbox.home().join("missing/demo"));
    std::fs::write(&file, "text").unwrap();
    for (taken, why) in [(&file, "it is a file"), (&missing, "No such file or directory")] {
        let result = sandbox.run(&["demo", "--keep", taken.to_str().unwrap()]);
        let error = format!("error: cannot keep the run in {}: ", taken.display());
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
        assert!(result.err.starts_with(&error) && result.err.contains(why), "{}", result.err);
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "text");
}

#[test]
fn the_work_of_the_demo_is_restored_into_its_own_claude_code() {
    let demo = Demo::kept();
    let before = demo.task_lists();
    let preview = demo.run(&["restore", "--dry-run"]);
    assert_eq!(preview.code, Some(0), "{preview:?}");
    assert!(preview.out.contains("Write the formatter"), "{preview:?}");
    assert_eq!(demo.task_lists(), before, "a preview writes nothing");
    let restored = demo.run(&["restore", "--yes"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let claude = format!("CLAUDE_CONFIG_DIR='{}' ", demo.dir.join("home/.claude").display());
    assert!(restored.err.contains(&claude), "{restored:?}");
    assert_eq!(demo.task_lists(), before + 1);
    assert!(!demo.sandbox.client("tasks").exists(), "the user's Claude Code is not touched");
    let undone = demo.run(&["restore", "--undo"]);
    assert_eq!((undone.code, demo.task_lists()), (Some(0), before), "{undone:?}");
    let files = demo.sandbox.home().join("files");
    let written = demo.run(&["restore", "--files", files.to_str().unwrap()]);
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(files.join("tasks").is_dir());
}

#[test]
fn the_demo_goes_wrong_in_the_ways_that_a_report_finds() {
    let demo = Demo::kept();
    let report = demo.json(&["report"]);
    let incidents: Vec<String> = report["incidents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one["severity"].as_str().unwrap(),
                one["kind"].as_str().unwrap(),
                one["agents"][0].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(incidents, ["high lost-work bob", "high stalled-agent carol"]);
    let silent = report["incidents"][1]["cost"]["seconds"].as_u64().unwrap();
    assert!(silent >= 40 * 60, "{silent}");
    assert_eq!(report["verdict"]["kind"], "open-work");
    assert!(report["verdict"]["title"].as_str().unwrap().starts_with("Build tomlfmt"));
    assert!(report["spending"]["cost"].as_f64().unwrap() > 1.0);
    let unread: Vec<&Value> = report["mail"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["automatic"] == false && message["to"] == "carol")
        .collect();
    assert_eq!(unread.len(), 2, "an answer and a question, both to an agent that is silent");
    let log = demo.run(&["log"]).out;
    let place = |part: &str| log.find(part).unwrap_or_else(|| panic!("no {part:?} in {log}"));
    assert!(place("was blocked") < place("approved the shutdown"), "{log}");
    assert!(place("approved the shutdown") < place("returned task 2 to pending"), "{log}");
    assert!(log.contains("lost its context (compaction)"), "{log}");
}

#[test]
fn two_agents_of_the_demo_changed_one_file() {
    let demo = Demo::kept();
    let shared = demo.run(&["files", "--shared"]);
    assert!(shared.out.contains("src/format.rs") && !shared.out.contains("src/lexer.rs"), "{shared:?}");
    let blame = demo.json(&["blame", "src/format.rs"]);
    let lines = blame["lines"].as_array().unwrap();
    let by = |name: &str| lines.iter().filter(|line| line["change"]["agent"] == name).count();
    assert!(by("alice") > 1 && by("bob") > 1, "{blame}");
    assert_eq!(by("alice") + by("bob"), lines.len(), "each line has its agent");
    let number = lines.iter().find(|line| line["text"].as_str().unwrap().contains("line.push(' ')")).unwrap();
    assert_eq!(number["change"]["agent"], "bob", "bob replaced a line of alice");
}

#[test]
fn the_board_of_the_demo_begins_with_its_worst_incident() {
    let demo = Demo::kept();
    let mut command = demo.command(&["watch"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::of(command);
    terminal.until_shown("bob was shut down");
    std::io::Write::write_all(&mut terminal.master, b"q").unwrap();
    terminal.until_end();
}

#[test]
fn the_bundled_run_is_small_and_has_only_paths_of_its_own() {
    let size = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/demo/run.jsonl.gz").metadata().unwrap().len();
    assert!(size <= 150_000, "{size}");
    let text = teamkeep::demo::bundled().unwrap();
    let roots = ["/tmp/w", "/work", "/root", "/var", "/usr", "/etc", "/mnt", "/Users"];
    for root in roots {
        assert!(!text.contains(root), "{root} is in the run");
    }
    let homes = text.match_indices("/home/").filter(|(at, _)| !text[*at..].starts_with("/home/dev"));
    assert_eq!(homes.count(), 0);
    assert!(!text.contains("system-reminder") && !text.contains("CLAUDE_CODE_MESSAGING"));
}

/// The check with this hook program, or with the real one.
fn check(hook: Option<&str>) -> CommandResult {
    let sandbox = Sandbox::judging();
    let bin = sandbox.home().join("my bin");
    std::fs::create_dir(&bin).unwrap();
    copy_programs(&bin);
    if let Some(script) = hook {
        std::fs::remove_file(bin.join("teamkeep-hook")).unwrap();
        write_program(&bin.join("teamkeep-hook"), format!("#!/bin/sh\n{script}\n"));
    }
    let mut command = Command::new(bin.join(program_name("teamkeep")));
    sandbox.dress(&mut command);
    let result = CommandResult::from(command.args(["demo", "--check"]).output().unwrap());
    assert!(!sandbox.keep("").exists(), "the user's store is not touched");
    let err = result.err.replace(bin.to_str().unwrap(), "BIN");
    CommandResult { err, ..result }
}

#[test]
fn the_check_prints_what_the_hook_program_recorded_and_blocked() {
    let result = check(None);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    let (lines, time) = result.out.trim_end().rsplit_once(": ").unwrap();
    insta::assert_snapshot!(lines, @r#"
    check with a bundled run: recorded 166 events, 4 agents, 7 tasks, 7 messages
    blocked by premature-shutdown: a shutdown request to bob, who still owns task 2 "Write the formatter" (in_progress, owner bob)
    median time of a hook call
    "#);
    assert!(time.strip_suffix(" ms").is_some_and(|time| time.parse::<f64>().is_ok()), "{time}");
}

#[test]
fn the_check_fails_with_a_hook_program_that_does_not_work() {
    let end = "\nhint: reinstall teamkeep, then: teamkeep doctor\n";
    let program = "\"$(dirname \"$0\")/teamkeep\" hook";
    for (script, error) in [
        (
            "echo hello",
            " failed at hook call 1 of 166 (SessionStart): it printed \"hello\", which is not a JSON object",
        ),
        ("echo hello >&2", " failed at hook call 1 of 166 (SessionStart): it printed \"hello\" on stderr"),
        ("exit 1", " failed at hook call 1 of 166 (SessionStart): it ended with exit status: 1: \"\""),
        ("exit 0", " recorded 0 of 166 hook calls"),
        (&format!("[ \"$1\" = teammate-idle ] || exec {program} \"$@\""), " recorded 161 of 166 hook calls"),
        (
            &format!("{program} \"$@\" 2>/dev/null || true"),
            " did not block the shutdown of an agent with unfinished work",
        ),
    ] {
        let result = check(Some(script));
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{script}");
        assert_eq!(result.err, format!("error: 'BIN/teamkeep-hook'{error}{end}"), "{script}");
    }
}
