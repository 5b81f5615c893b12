//! The generated report of a large run: ten members, two hours, 200 tasks with many dependencies.

use serde_json::{Value, json};
use teamkeep::report::Report;

const MEMBERS: usize = 10;
const TASKS: usize = 200;
/// Duration of the run, in milliseconds.
const LASTED: usize = 2 * 3_600_000;

fn at(millis: usize) -> String {
    let (seconds, rest) = (millis / 1_000, millis % 1_000);
    let (hours, minutes) = (8 + seconds / 3_600, seconds / 60 % 60);
    format!("2026-02-03T{hours:02}:{minutes:02}:{:02}.{rest:03}Z", seconds % 60)
}

fn name(number: usize) -> String {
    if number.is_multiple_of(MEMBERS) {
        "team-lead".to_owned()
    } else {
        format!("agent-{}", number % MEMBERS)
    }
}

/// This many words, the same each time.
fn words(seed: usize, many: usize) -> String {
    let known =
        ["parser", "token", "crash", "review", "merge", "span", "error", "fuzz", "test", "the", "of", "and"];
    let word = |place: usize| known[(seed * 31 + place * 7 + place * place) % known.len()];
    (0..many).map(word).collect::<Vec<_>>().join(" ")
}

fn message(number: usize, all: usize) -> Value {
    let text = words(number, [10, 40, 120, 400][number % 4]);
    json!({
        "at": at(LASTED / all * number), "from": name(number), "to": name(number * 3 + 1), "kind": "message",
        "chars": text.len(), "summary": words(number + 5, 4), "text": text, "automatic": number % 4 == 3,
        "delivered": !number.is_multiple_of(17), "refused": null,
    })
}

fn task(number: usize) -> Value {
    let (start, owner) = (LASTED / (TASKS + 20) * number, name(number % (MEMBERS - 1) + 1));
    let change = |at: String, kind: &str, from: Value, to: &str, owner: Value| {
        json!({
            "at": at, "by": "team-lead", "kind": kind, "from": from, "to": to, "owner_from": null, "owner": owner,
            "subject": words(number, 4),
        })
    };
    let end = start + 60_000 + number * 7_919 % 600_000;
    json!({
        "id": number.to_string(), "subject": words(number, 4), "description": words(number, 60),
        "status": "completed", "owner": owner, "removed_at": null,
        "blocked_by": (1..=number % 3).filter(|back| back * 4 < number).map(|back| (number - back * 4).to_string()).collect::<Vec<_>>(),
        "changes": [
            change(at(start), "task-created", Value::Null, "pending", Value::Null),
            change(at(start + 9_000), "task-changed", json!("pending"), "pending", json!(owner)),
            change(at(start + 30_000), "task-changed", json!("pending"), "in_progress", json!(owner)),
            change(at(end), "task-completed", json!("in_progress"), "completed", json!(owner)),
        ],
    })
}

fn turn(number: usize) -> Value {
    let start = number / MEMBERS * 60_000 + number * 977 % 20_000;
    json!({
        "agent": name(number), "instance": null, "from": at(start), "to": at(start + 10_000 + number * 613 % 30_000),
        "for_idlers": number.is_multiple_of(11),
    })
}

/// Builds the report.
pub fn report(messages: usize) -> Report {
    let members = (0..MEMBERS).map(|number| json!({ "name": name(number) })).collect::<Vec<_>>();
    let blocked = |number: usize| json!({ "code": "blocked", "at": at(number * 300_000), "who": name(number), "what": words(number, 12) });
    let report = json!({
        "v": 1,
        "overview": {
            "run": "0123456789abcdef", "team": "big-team", "started_at": at(0), "ended_at": at(LASTED),
            "duration_ms": LASTED, "client_versions": [], "topology": "in-process", "members": members,
            "count": {
                "members": MEMBERS, "messages": messages, "automatic": 0, "refused": 0, "tasks": TASKS, "completed": TASKS,
                "turns": 1_100, "events": 9_000, "snapshots": 900,
            },
        },
        "phases": [], "agents": [], "turns": (0..1_100).map(turn).collect::<Vec<_>>(),
        "mail": {
            "messages": (0..messages).map(|number| message(number, messages)).collect::<Vec<_>>(),
            "by_sender": [], "by_pair": [],
        },
        "tasks": (1..=TASKS).map(task).collect::<Vec<_>>(), "tools": { "by_agent": [], "total": {} },
        "work": { "agents": [] }, "spending": { "agents": [], "unknown": [] },
        "findings": (0..20).map(blocked).collect::<Vec<_>>(),
    });
    serde_json::from_value(report).unwrap()
}
