//! The team of [`halfway`](super::halfway), whose lead ends alice with TaskStop.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::look::Look;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Step, at, halfway};

const END: &str = "act=end";

/// Alice has left, by the lead's hand.
pub fn looks(_: Generation) -> Vec<Look> {
    let shows = &["stopped alice"];
    vec![
        Look {
            after: Some(END),
            command: &["status"],
            shows: &["bob"],
            lacks: &["alice  idle", "alice  working"],
        },
        Look { after: Some(END), command: &["log", "latest"], shows, lacks: &[] },
        Look {
            after: None,
            command: &["log", "latest"],
            shows,
            lacks: &["alice disappeared", "alice crashed"],
        },
        Look { after: None, command: &["report", "latest"], shows: &["bob"], lacks: &["crashed-agent"] },
    ]
}

pub fn steps(generation: Generation) -> Vec<Step> {
    let mut steps = halfway::steps_of_leaving(generation);
    steps.push(Step { typed: END, until: vec![("lead", "Ended alice")] });
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "end") => {
            let stop = Move::Use { tool: "TaskStop", input: json!({"task_id": "alice"}) };
            at(vec![vec![stop], vec![say("Ended alice.")]], cue.turn)
        }
        _ => halfway::reply(generation, cue),
    }
}
