//! A run that is told while it goes on.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, lines};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// Longer than any machine needs.
const LONG: Duration = Duration::from_secs(60);

/// A follower, and the lines that it prints.
struct Follower {
    child: Child,
    result: Receiver<String>,
}

impl Follower {
    fn of(sandbox: &Sandbox, args: &[&str]) -> Follower {
        let mut command = sandbox.command(&[&["log", "latest", "--follow"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, result) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Follower { child, result }
    }

    /// The next line that holds this; those before it are given as well.
    fn until(&self, part: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(part)) {
            lines.push(self.result.recv_timeout(LONG).unwrap_or_else(|_| panic!("no {part} in {lines:#?}")));
        }
        lines
    }

    /// Everything that is still said, what is said at stderr, and the exit code.
    fn end(self) -> (Vec<String>, String, Option<i32>) {
        let rest = self.result.iter().collect();
        let output = self.child.wait_with_output().unwrap();
        (rest, String::from_utf8(output.stderr).unwrap(), output.status.code())
    }
}

fn say(lead: &Lead<'_>, id: &str, text: &str) {
    let input = json!({"to": "alice", "summary": text, "message": text});
    lead.tool(id, "SendMessage", &input, json!({"success": true}));
}

#[test]
fn follow_prints_each_event_of_a_running_team_once_until_it_ends() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    say(&lead, "u1", "one");
    let follower = Follower::of(&sandbox, &["--json"]);
    let mut told = follower.until("\"one\"");
    say(&lead, "u2", "two");
    lead.task("1", "in_progress", Some("alice"));
    lead.hook("Stop", json!({}));
    told.extend(follower.until("turn-ended"));
    // What comes late sorts before what was told: a message that only its recipient's inbox shows.
    let mail = json!([{"from": "bob", "text": "late", "timestamp": "2026-02-03T04:05:07Z", "read": false}]);
    lead.inbox("alice", mail);
    lead.hook("Stop", json!({}));
    told.extend(follower.until("\"late\""));
    lead.erase();
    lead.end("other");
    let (rest, result, code) = follower.end();
    told.extend(rest);
    assert_eq!((code, result.as_str()), (Some(0), "the run has ended: session-end (+7.0s)\n"));
    sandbox.finish();
    let sorted = |mut lines: Vec<Value>| {
        lines.sort_by_key(|line| format!("{} {}", line["at"], line["kind"]));
        lines
    };
    assert_eq!(sorted(lines(&told.join("\n"))), sorted(sandbox.replay("latest")));
}

#[test]
fn follow_prints_the_heading_once_and_applies_filters() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let follower = Follower::of(&sandbox, &["--kind", "message", "--agent", "team-lead"]);
    let head = follower.until("alice");
    assert_eq!(head.len(), 3, "{head:?}");
    say(&lead, "u1", "one");
    assert_eq!(follower.until("messaged alice: one").len(), 1);
    lead.erase();
    lead.end("other");
    let (rest, result, code) = follower.end();
    assert_eq!((rest, code), (Vec::new(), Some(0)), "{result}");
    sandbox.finish();
}

#[test]
fn follow_prints_an_ended_run_and_reports_its_end() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.erase();
    lead.end("other");
    sandbox.finish();
    let result = sandbox.run(&["log", "--follow", "--json"]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), "the run has ended: session-end (+1.0s)\n"));
    assert_eq!(lines(&result.out), sandbox.replay("latest"));
    for wrong in [["--format", "mermaid"], ["--to", "+1s"]] {
        assert_eq!(sandbox.run(&[&["log", "--follow"][..], &wrong[..]].concat()).code, Some(64));
    }
}
