//! Clients of before 2.1.178 that were killed: no file of theirs and no variable names their process.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::store::run_sandbox::{ONE, TWO};
use crate::support::client_files::Lead;
use crate::support::programs::write_program;
use crate::support::sandbox::Sandbox;

/// A process of the client's name that runs a hook, as a line of a shell, for each payload that it is handed.
struct Claude<'a> {
    sandbox: &'a Sandbox,
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl<'a> Claude<'a> {
    fn start(sandbox: &'a Sandbox) -> Claude<'a> {
        let path = sandbox.home().join("claude");
        let hook = format!("'{}' hook; true", env!("CARGO_BIN_EXE_teamkeep"));
        let script = format!(
            "#!/bin/sh\nwhile read -r now line; do\n export TEAMKEEP_NOW=\"$now\"\n \
             printf '%s' \"$line\" | /bin/sh -c \"{hook}\" >&2\n echo done\ndone\n"
        );
        write_program(&path, script);
        let mut command = Command::new(path);
        sandbox.dress(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Claude { sandbox, child, answers }
    }

    fn hook(&mut self, lead: &Lead<'_>, event: &str, fields: Value) {
        self.sandbox.set_clock(self.sandbox.millis() + 1_000);
        let payload = lead.payload(event, fields);
        writeln!(self.child.stdin.as_mut().unwrap(), "{} {payload}", self.sandbox.last()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n");
    }

    /// A team that is made and works, with a session that has begun before.
    fn works(&mut self, lead: &Lead<'_>) {
        self.hook(lead, "SessionStart", json!({"source": "startup"}));
        lead.roster(1_000, &["alice"]);
        let input = json!({"team_name": lead.team});
        self.hook(
            lead,
            "PostToolUse",
            json!({"tool_name": "TeamCreate", "tool_input": input,
            "tool_use_id": "t1", "tool_response": {"team_name": lead.team}}),
        );
        self.hook(lead, "Stop", json!({}));
    }
}

impl Drop for Claude<'_> {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_client_without_a_process_id_in_its_files_is_known_by_the_process_that_runs_its_hooks() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "ferry");
    let mut client = Claude::start(&sandbox);
    client.works(&lead);
    let heard = sandbox.last();
    sandbox.set_clock(432_000_000);
    Lead::named(&sandbox, TWO, "other").start("startup");
    assert_eq!(sandbox.teams()[0]["ended_at"], json!(null), "it lives");
    drop(client);
    assert!(sandbox.printed(&["log"]).contains("process gone"));
    Lead::named(&sandbox, TWO, "other").start("startup");
    let team = &sandbox.teams()[0];
    assert_eq!((&team["ended_by"], &team["ended_at"]), (&json!("crashed"), &json!(heard)));
}

#[test]
fn a_resumed_session_of_an_old_client_is_not_mistaken_for_the_killed_one() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "ferry");
    let mut first = Claude::start(&sandbox);
    first.works(&lead);
    drop(first);
    let mut second = Claude::start(&sandbox);
    second.hook(&lead, "SessionStart", json!({"source": "resume"}));
    for _ in 0..2 {
        second.hook(&lead, "UserPromptSubmit", json!({"prompt": "go on"}));
    }
    Lead::named(&sandbox, TWO, "other").start("startup");
    assert_eq!(sandbox.teams()[0]["ended_at"], json!(null));
    assert!(sandbox.printed(&["list"]).contains("● "));
    second.hook(&lead, "SessionEnd", json!({"reason": "prompt_input_exit"}));
    assert_eq!(sandbox.teams()[0]["ended_by"], "session-end");
}

#[test]
fn a_session_after_clear_continues_the_team_of_its_process() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "ferry");
    let mut client = Claude::start(&sandbox);
    client.works(&lead);
    client.hook(&lead, "SessionEnd", json!({"reason": "clear"}));
    let cleared = Lead::named(&sandbox, TWO, "ferry");
    client.hook(&cleared, "SessionStart", json!({"source": "clear"}));
    let id = json!({"agent_id": "a1", "agent_type": "alice"});
    client.hook(&cleared, "SubagentStart", id);
    let teams = sandbox.teams();
    assert_eq!((teams.len(), &teams[0]["team"], &teams[0]["ended_at"]), (1, &json!("ferry"), &json!(null)));
    let last = sandbox.log().pop().unwrap();
    assert_eq!((&last["team"], &last["actor"]["kind"]), (&json!("ferry"), &json!("teammate")));
    client.hook(&cleared, "SessionEnd", json!({"reason": "prompt_input_exit"}));
    assert_eq!(sandbox.teams()[0]["ended_by"], "session-end");
}
