//! The values that must arrive, from the reports and the logs of all machines.

use serde_json::{Value, json};
use teamkeep_history::report::{Report, Turn};
use teamkeep_model::time::Timestamp;

use super::support::Machine;
use super::telemetry::Telemetry;

/// The values that the engines must find in the rows: sums over all reports, and a checksum over the ids of all lines.
pub fn tables(fleet: &[Machine]) -> Value {
    let mut ids: Vec<String> = Vec::new();
    let (mut runs, mut incidents) = (0, Vec::new());
    let mut sums = [0_i64; 7];
    for (number, machine) in fleet.iter().enumerate() {
        ids.extend(
            machine.log_lines().iter().map(|line| format!("m{number}/{}", line["id"].as_str().unwrap())),
        );
        for report in machine.reports() {
            runs += 1;
            let count = &report.overview.count;
            let tokens: u64 = report.spending.agents.iter().map(|agent| agent.tokens.output).sum();
            let numbers = [
                report.mail.messages.len(),
                report.tasks.len(),
                count.completed,
                report.turns.len(),
                count.events,
                report.tools.total.values().sum(),
                usize::try_from(tokens).unwrap(),
            ];
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += i64::try_from(number).unwrap());
            let id = |id: &str| format!("m{number}/{}/{id}", report.overview.run);
            incidents.extend(report.incidents.iter().map(|incident| id(&incident.id)));
        }
    }
    json!({
        "events": ids.len(),
        "event_ids": checksum(ids),
        "runs": runs,
        "messages": sums[0],
        "tasks": sums[1],
        "completed_tasks": sums[2],
        "turns": sums[3],
        "run_events": sums[4],
        "tool_calls": sums[5],
        "output_tokens": sums[6],
        "incidents": incidents.len(),
        "incident_ids": checksum(incidents),
        "stores": fleet.len(),
    })
}

/// A hash that both engines can compute: SHA-256 of the sorted texts, joined with commas.
pub fn checksum(mut texts: Vec<String>) -> String {
    texts.sort();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(texts.join(","));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The telemetry that the receiver must get.
pub fn telemetry(fleet: &[Machine]) -> Telemetry {
    let mut telemetry = Telemetry::default();
    for machine in fleet {
        for line in machine.log_lines() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            telemetry.key("events", text(&line["id"]));
            if let Some(verdict) = line.get("verdict") {
                let (run, event, gate) = (text(&line["run"]), text(&verdict["of"]), text(&verdict["gate"]));
                telemetry.key("verdicts", format!("{run}/{event}/{gate}"));
            }
        }
        machine.reports().iter().for_each(|report| add(&mut telemetry, report));
    }
    telemetry
}

/// Adds a run, of which most rows are a record and a span.
fn add(telemetry: &mut Telemetry, report: &Report) {
    let run = &report.overview.run;
    let end = report.overview.ended_at.unwrap();
    let mut both = |kind: &'static str, span: &'static str, key: String| {
        telemetry.key(kind, key.clone());
        telemetry.key(span, key);
    };
    both("runs", "runs as spans", run.clone());
    for agent in &report.agents {
        both("agents", "agents as spans", format!("{run}/{}", agent.name));
    }
    for turn in &report.turns {
        both("turns", "turns as spans", format!("{run}/{}/{}", turn.agent, start(turn, end).millis()));
    }
    for task in &report.tasks {
        both("tasks", "tasks as spans", format!("{run}/{}", task.id));
    }
    for message in &report.mail.messages {
        telemetry.key("messages", format!("{run}/{}/{}", message.at.millis(), message.chars));
    }
    for incident in &report.incidents {
        telemetry.key("incidents", format!("{run}/{}", incident.id));
    }
}

/// When a turn began; without a recorded start it has no duration.
fn start(turn: &Turn, end: Timestamp) -> Timestamp {
    let to = turn.to.unwrap_or(end);
    turn.from.unwrap_or(to).min(to)
}
