//! The team of [`halfway`](super::halfway) in which an agent's conversation is compacted: the lead's, because the user asks
//! for it, or that of a teammate in the lead's process, because its context is full.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, say};
use super::super::version::Generation;
use super::{Step, at, cleared, halfway};

pub fn steps(generation: Generation) -> Vec<Step> {
    cleared::steps_after("/compact", generation)
}

pub fn steps_of_teammate(generation: Generation) -> Vec<Step> {
    let mut steps = halfway::steps_of_leaving(generation);
    let nudged = vec![("bob", "is reviewed"), ("lead", "Told bob")];
    steps.push(Step { typed: "act=nudge", until: nudged });
    steps.extend(cleared::steps_of_ending(generation));
    steps
}

pub fn reply_of_teammate(generation: Generation, cue: &Cue) -> Vec<Move> {
    let completed = || json!({"status": "completed"});
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "nudge") => {
            vec![
                vec![generation.tell("bob", "please go on", "End the review")],
                vec![say("Told bob to go on.")],
            ]
        }
        ("bob", "again") => {
            // The client can keep an answer from before the compaction.
            let done = || vec![change_task("2", completed())];
            vec![done(), done(), vec![say("The parser is reviewed.")]]
        }
        ("bob", _) if cue.turn > 2 && cue.asked.is_empty() => {
            return vec![change_task("2", json!({"activeForm": "Reviewing"})), Move::Fill];
        }
        _ => return cleared::reply(generation, cue),
    };
    if cue.asked.is_empty() { at(plan, cue.turn) } else { cleared::reply(generation, cue) }
}
