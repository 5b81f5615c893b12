//! The bundled example run.

use std::process::Command;

use crate::support::programs::{copy_programs, write_program};
use crate::support::sandbox::{CommandResult, Sandbox};

#[test]
fn the_block_of_the_demo_works_and_the_work_is_finished() {
    let sandbox = Sandbox::new();
    let told = sandbox.told(&["demo"]);
    let position = |part: &str| told.find(part).unwrap_or_else(|| panic!("no {part:?} in {told}"));
    let blocked = position("premature-shutdown");
    let finished = position("completed task 2");
    assert!(blocked < finished && finished < position("bob         left the team"), "{told}");
    assert!(!told.contains("returned to pending") && !told.contains("put task 2 back"), "{told}");
    assert!(!told.contains("\n$ "), "nothing looks like a command that works on the user's store");
    assert!(told.contains("The lead reads this instead of stopping bob:\n"), "{told}");
    assert!(!sandbox.keep("").exists(), "the user's store is not touched");
}

#[test]
fn the_commands_of_a_kept_demo_can_be_pasted() {
    let sandbox = Sandbox::new();
    let dir = sandbox.home().join("my demo");
    let told = sandbox.told(&["demo", "--keep", dir.to_str().unwrap()]);
    let commands: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert_eq!(commands.len(), 2, "{told}");
    for command in commands {
        let mut shell = Command::new("sh");
        sandbox.dress(&mut shell);
        let output = shell.args(["-c", command]).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let line = out.lines().next_back().unwrap();
        assert!(told.contains(line), "{command} prints {line:?}, the demo does not");
    }
    let again = sandbox.run(&["demo", "--keep", dir.to_str().unwrap()]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("the directory is not empty"), "{}", again.err);
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
    let mut command = Command::new(bin.join("teamkeep"));
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
    recorded: 149 events, 4 agents, 3 tasks, 13 messages
    blocked by premature-shutdown: a shutdown request to bob, who still owns task 2 "Review the parser" (in_progress, owner bob)
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
            " failed at hook call 1 of 149 (SessionStart): it printed \"hello\", which is not a JSON object",
        ),
        ("echo hello >&2", " failed at hook call 1 of 149 (SessionStart): it printed \"hello\" on stderr"),
        ("exit 1", " failed at hook call 1 of 149 (SessionStart): it ended with exit status: 1: \"\""),
        ("exit 0", " recorded 0 of 149 hook calls"),
        (&format!("[ \"$1\" = teammate-idle ] || exec {program} \"$@\""), " recorded 143 of 149 hook calls"),
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
