//! A client that leaves ends the hooks that still run: their payloads are on record all the same.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::policy::gate_sandbox::{SESSION, TEAM, busy, told};
use crate::support::programs::write_program;
use crate::support::sandbox::{CommandResult, Sandbox};

/// Waits until the process has a handler for a signal, or has gone.
fn wait_for_handler(child: &mut Child, signal: Signal) {
    let bit = 1u64 << (signal.as_raw() - 1);
    let caught = |status: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & bit != 0)
    };
    while child.try_wait().unwrap().is_none() {
        if std::fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(|status| caught(&status))
        {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_event_is_on_record_though_its_hook_was_told_to_end() {
    let sandbox = Sandbox::new();
    for signal in [Signal::TERM, Signal::HUP] {
        let mut command = sandbox.command(&["hook", "session-end"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        wait_for_handler(&mut child, signal);
        for _ in 0..2 {
            kill_process(Pid::from_child(&child), signal).unwrap();
        }
        let session = format!("aaaaaaaa-0000-4000-8000-0000000000{:02}", signal.as_raw());
        let payload = json!({"hook_event_name": "SessionEnd", "session_id": session, "reason": "other"});
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{signal:?}: {output:?}");
        assert_eq!(sandbox.log().last().unwrap()["session"], session);
    }
    assert_eq!(sandbox.log().len(), 2);
    assert_eq!(sandbox.diagnostics(), "");
}

/// The hook call at which bob completes a task, with these variables.
fn complete(sandbox: &Sandbox, env: &[(&str, &str)]) -> CommandResult {
    let bob = |mut payload: Value| {
        (payload["agent_id"], payload["agent_type"]) = (json!("abob-1"), json!("bob"));
        told(sandbox, payload)
    };
    bob(json!({"hook_event_name": "SubagentStart"}));
    let update = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": {"taskId": "2", "status": "completed"}});
    bob(update);
    let cwd = sandbox.home().join("parser");
    let completed = json!({"hook_event_name": "TaskCompleted", "task_id": "2", "task_subject": "Review", "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob", "session_id": SESSION, "cwd": cwd});
    sandbox.feed("", completed.to_string().as_bytes(), env)
}

/// The verdict is recorded, and nothing that names this file runs any more.
fn assert_interrupted(sandbox: &Sandbox, named: &Path, signal: &str) {
    let log = sandbox.log();
    assert!(log.iter().any(|event| event["event"] == "TaskCompleted"));
    let verdict = log.iter().rfind(|event| event["event"] == "Verdict").unwrap();
    assert!(verdict["verdict"]["reason"].as_str().unwrap().contains("interrupted"), "{signal}: {verdict}");
    let left = Command::new("pgrep").args(["-f", named.to_str().unwrap()]).output();
    assert!(left.is_err() || left.unwrap().stdout.is_empty(), "{signal}: a child is left");
}

#[test]
fn a_hook_that_waits_for_git_ends_it_at_a_signal_and_starts_no_check() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let search = format!("{}:/usr/bin:/bin", dir.path().display());
    for signal in ["HUP", "INT", "TERM"] {
        // git ends the hook that runs it.
        let script = format!(
            "#!/bin/sh\ntouch {}\nkill -{signal} $PPID\nsleep 60\ntouch {}\n",
            at("started").display(),
            at("ended").display()
        );
        write_program(&at("git"), script);
        let check = format!("run = \"touch {}\"\n", at("checked").display());
        let sandbox = busy(&format!("[[policy.completion-check.check]]\n{check}"));
        let project = sandbox.home().join("parser");
        let env = [("PATH", search.as_str()), ("CLAUDE_PROJECT_DIR", project.to_str().unwrap())];
        let result = complete(&sandbox, &env);
        assert_ne!(result.code, Some(2), "{signal}: {result:?}");
        assert!(at("started").exists() && !at("ended").exists() && !at("checked").exists());
        assert_interrupted(&sandbox, &at("git"), signal);
        std::fs::remove_file(at("started")).unwrap();
    }
}

#[test]
fn a_hook_that_waits_for_a_check_ends_it_at_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let (started, ended) = (dir.path().join("started"), dir.path().join("ended"));
    for signal in ["HUP", "INT", "TERM"] {
        // The check ends its own hook. The sleep keeps a lock that this test takes when the sleep is gone.
        let run =
            format!("touch {}; kill -{signal} $PPID; sleep 60; touch {}", started.display(), ended.display());
        let sandbox = busy(&format!("[[policy.completion-check.check]]\nrun = \"{run}\"\n"));
        let result = complete(&sandbox, &[]);
        assert_ne!(result.code, Some(2), "{signal}: {result:?}");
        assert!(started.exists() && !ended.exists());
        assert_interrupted(&sandbox, &ended, signal);
        std::fs::remove_file(&started).unwrap();
    }
}
