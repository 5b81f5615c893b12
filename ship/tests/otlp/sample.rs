//! A run that has everything that can be sent.

use serde_json::{Value, json};
use teamkeep::report::Report;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_core::model::TraceParent;
use teamkeep_core::policy::Decision;
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::sys::clock::{self, Timestamp};
use teamkeep_ship::otlp::{ClientSpan, Resource, RunExport};
use teamkeep_ship::verdicts::RunVerdict;

pub const RESOURCE: Resource<'static> =
    Resource { organization: "acme", host: "build-1", user: Some("u-1"), service_version: "0.1.0" };

/// A word that is in every text.
pub const PLANTED: &str = "zanzibar";

/// The moment so many seconds after the start.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(clock::parse("2026-02-03T04:05:06.000Z").unwrap().millis() + seconds * 1_000)
        .unwrap()
}

pub struct Sample {
    pub run: RunRecord,
    pub report: Report,
    pub verdicts: Vec<RunVerdict>,
    pub links: Vec<ClientSpan>,
}

impl Sample {
    /// A team of two that ended after 60 seconds.
    pub fn new() -> Sample {
        let parent = |trace: &str, span: &str, seconds: i64, agent: &str| {
            let text = format!("00-{}-{}-01", trace.repeat(32), span.repeat(16));
            ClientSpan {
                span: TraceParent::parse(&text).unwrap(),
                at: at(seconds),
                session: Some("s-lead".to_owned()),
                agent: Some(agent.to_owned()),
            }
        };
        Sample {
            run: RunRecord {
                run: "run-1".to_owned(),
                team: Some("parser".to_owned()),
                continues: Some("run-0".to_owned()),
                ..RunRecord::default()
            },
            report: serde_json::from_value(report()).unwrap(),
            verdicts: vec![
                verdict(20, "alice", Decision::Block),
                RunVerdict {
                    blocks: Some(3),
                    repeated: true,
                    paused: true,
                    ..verdict(21, "alice", Decision::Allow)
                },
            ],
            links: vec![
                parent("a", "1", 11, "alice"),
                parent("a", "1", 12, "alice"),
                parent("a", "2", 13, "alice"),
                parent("b", "3", 2, "team-lead"),
                parent("b", "4", 55, "alice"),
            ],
        }
    }

    /// The run with its end in so many seconds.
    pub fn export(&self, privacy: ShipPrivacy, seconds: i64, previous: Option<i64>) -> RunExport<'_> {
        RunExport {
            run: &self.run,
            report: &self.report,
            verdicts: &self.verdicts,
            links: &self.links,
            revision: at(seconds).millis(),
            previous: previous.map(|seconds| at(seconds).millis()),
            privacy,
        }
    }
}

fn verdict(seconds: i64, agent: &str, decision: Decision) -> RunVerdict {
    RunVerdict {
        at: at(seconds),
        agent: agent.to_owned(),
        agent_id: Some("i-alice".to_owned()),
        decision,
        gate: "premature-shutdown".to_owned(),
        reason: format!("{PLANTED} is not done"),
        event: format!("e-{seconds}"),
        blocks: None,
        paused: false,
        repeated: false,
    }
}

fn tokens(input: u64) -> Value {
    json!({"input": input, "output": 20, "cache_read": 300, "cache_write": 4_000, "cache_write_1h": 0})
}

fn text(what: &str) -> String {
    format!("{what} {PLANTED}")
}

fn report() -> Value {
    let change = |seconds: i64, kind: &str, from: Value, to: Value, owner: Value| {
        json!({"at": at(seconds), "by": "alice", "kind": kind, "from": from, "to": to, "owner_from": null,
            "owner": owner, "subject": text("subject")})
    };
    json!({
        "v": 1,
        "verdict": {"kind": "crashed", "title": text("title"), "sentence": text("sentence")},
        "overview": {
            "run": "run-1", "team": "parser", "lead_session": "s-lead", "started_at": at(0), "ended_at": at(60),
            "duration_ms": 60_000, "ended_by": "session-end", "ended_reason": "exit", "client_versions": ["2.1.328"],
            "topology": "in-process",
            "members": [{"name": "alice", "agent_type": "reviewer", "model": "opus", "joined_at": null, "left_at": null}],
            "count": {"members": 2, "messages": 1, "automatic": 0, "refused": 1, "tasks": 2, "completed": 1,
                "turns": 3, "events": 9, "snapshots": 9},
        },
        "phases": [],
        "agents": [
            {"name": "team-lead", "kind": "lead", "instances": [instance("s-lead", 0, 60)]},
            {"name": "alice", "kind": "teammate", "instances": [instance("i-alice", 10, 50)]},
        ],
        "turns": [
            {"agent": "team-lead", "instance": "s-lead", "from": at(1), "to": at(5), "for_idlers": true},
            {"agent": "alice", "instance": "i-alice", "from": at(10), "to": at(30), "for_idlers": false},
            {"agent": "alice", "instance": "i-alice", "from": at(40), "to": null, "for_idlers": false},
        ],
        "mail": {
            "messages": [
                {"at": at(3), "from": "team-lead", "to": "alice", "kind": "message", "chars": 13, "summary": text("summary"),
                    "text": text("hello"), "answer": text("answer"), "automatic": false, "delivered": true, "refused": null, "blocked": false},
                {"at": at(20), "from": "alice", "to": text("bob"), "kind": text("kind"), "chars": 13, "summary": null,
                    "text": text("hello"), "automatic": false, "delivered": null, "refused": text("refused"), "blocked": true},
            ],
            "by_sender": [], "by_pair": [],
        },
        "tasks": [
            {"id": "1", "subject": text("subject"), "description": text("description"), "status": "completed",
                "owner": "alice@parser", "removed_at": null, "blocked_by": ["2"], "changes": [
                    change(2, "task-created", json!(null), json!("pending"), json!(null)),
                    change(12, "task-changed", json!("pending"), json!("in_progress"), json!("alice@parser")),
                    change(25, "task-completed", json!("in_progress"), json!("completed"), json!("alice@parser")),
                    change(31, "task-erased", json!("completed"), json!(null), json!("alice@parser")),
                ]},
            {"id": "2", "subject": text("subject"), "description": null, "status": text("status"), "owner": text("owner"),
                "removed_at": null, "blocked_by": [], "changes": [
                    change(2, "task-created", json!(null), json!(text("status")), json!(text("owner"))),
                ]},
        ],
        "tools": {"by_agent": [], "total": {}},
        "work": {"agents": [], "worked_ms": null, "busy_ms": null, "saved_ms": null},
        "spending": {
            "agents": [
                {"agent": "alice", "messages": 2, "models": ["claude-opus-5-5"], "tokens": tokens(1), "cost": 0.5},
                {"agent": "team-lead", "messages": 2, "models": ["a", "b"], "tokens": tokens(2), "cost": null},
            ],
            "unknown": [], "total": tokens(3), "cost": 0.75, "unpriced": ["b"],
            "tasks": [{"task": "1", "messages": 1, "tokens": tokens(1), "cost": 0.25}],
        },
        "incidents": [{
            "id": "0123456789", "kind": "stalled-agent", "severity": "high", "agents": ["alice", text("agent")], "tasks": ["1"],
            "from": at(20), "to": at(30), "summary": text("summary"), "evidence": [], "chain": [],
            "cost": {"tasks_lost": 1, "tokens": 7, "usd": 0.1, "seconds": 10}, "remedy": text("remedy"),
        }],
        "files": [],
        "observations": [],
        "redacted": null,
    })
}

fn instance(id: &str, from: i64, to: i64) -> Value {
    json!({"id": id, "role": "unknown", "first": at(from), "last": at(to), "turns": 1, "tool_uses": 4, "tokens": null})
}
