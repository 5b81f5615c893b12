//! The team of [`halfway`](super::halfway), and a user who clears the lead's conversation. After that, the lead ends the work.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, say};
use super::super::version::Generation;
use super::{Step, at, delete_step, halfway};

/// What the user types to clear the conversation.
pub const CLEAR: &str = "/clear";

pub fn steps(generation: Generation) -> Vec<Step> {
    steps_after(CLEAR, generation)
}

/// The same after another command.
pub fn steps_after(typed: &'static str, generation: Generation) -> Vec<Step> {
    let mut steps = halfway::steps_of_leaving(generation);
    let resumed = vec![("bob", "is reviewed"), ("lead", "All is done")];
    steps.push(Step { typed, until: Vec::new() });
    steps.push(Step { typed: "part=lead act=resume", until: resumed });
    steps.extend(steps_of_ending(generation));
    steps
}

/// All agents are told to stop.
pub fn steps_of_ending(generation: Generation) -> Vec<Step> {
    let stopped =
        vec![("alice", "shutdown_response"), ("bob", "shutdown_response"), ("lead", "Asked everyone")];
    let mut steps = vec![Step { typed: "act=stop", until: stopped }];
    steps.extend(delete_step(generation));
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let completed = || json!({"status": "completed"});
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "resume") => vec![
            vec![generation.tell("bob", "please go on", "End the review, I do the rest")],
            vec![change_task("3", json!({"status": "in_progress", "owner": "team-lead"}))],
            vec![change_task("3", completed())],
            vec![say("All is done.")],
        ],
        ("lead", "stop") => {
            let ask = |name| generation.ask_to_stop(name, "All work is done");
            vec![vec![ask("alice"), ask("bob")], vec![say("Asked everyone to stop.")]]
        }
        ("bob", _) if cue.turn > 2 && cue.asked.is_empty() => {
            let wait = vec![vec![]; 3];
            [wait, vec![vec![change_task("2", completed())], vec![say("The parser is reviewed.")]]].concat()
        }
        _ => return halfway::reply(generation, cue),
    };
    at(plan, cue.turn)
}
