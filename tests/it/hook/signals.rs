//! A client that leaves ends the hooks that still run: their payloads are on record all the same.

use std::io::Write;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::policy::gate_sandbox::{TEAM, busy, told};
use crate::support::sandbox::Sandbox;

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

#[test]
fn a_hook_that_waits_for_a_check_ends_at_a_signal() {
    // The check tells its hook to end; if that did not, the task would be completed a second later.
    let sandbox = busy("[[policy.completion-check.check]]\nrun = \"kill -TERM $PPID; sleep 1\"\n");
    let bob = |mut payload: Value| {
        (payload["agent_id"], payload["agent_type"]) = (json!("abob-1"), json!("bob"));
        told(&sandbox, payload)
    };
    bob(json!({"hook_event_name": "SubagentStart"}));
    let update = json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_use_id": "u1", "tool_input": {"taskId": "2", "status": "completed"}});
    bob(update);
    let completed = json!({"hook_event_name": "TaskCompleted", "task_id": "2", "task_subject": "Review", "teammate_name": "bob", "team_name": TEAM});
    assert_eq!(bob(completed).code, None, "a signal ended it");
    assert!(sandbox.log().iter().any(|event| event["event"] == "TaskCompleted"));
}
