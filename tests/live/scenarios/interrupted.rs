//! The team of [`halfway`](super::halfway), whose user presses Escape in the middle of a turn of the lead.

use super::super::conversation::Cue;
use super::super::moves::{Move, list_tasks, say};
use super::super::play::{ESCAPE, HANGS};
use super::super::version::Generation;
use super::{Step, at, halfway};

/// The turn that was interrupted.
pub const HALTS: &[&str] = &["turn-interrupted team-lead"];

pub fn steps(generation: Generation) -> Vec<Step> {
    let mut steps = halfway::steps_of_leaving(generation);
    steps.push(Step { typed: "act=long", until: vec![("lead", HANGS)] });
    steps.push(Step { typed: ESCAPE, until: Vec::new() });
    steps.push(Step { typed: "act=other", until: vec![("lead", "Another way")] });
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        // A turn without any answer is undone by Escape.
        ("lead", "long") => vec![vec![list_tasks()], vec![Move::Hang]],
        ("lead", "other") => vec![vec![say("Another way.")]],
        _ => return halfway::reply(generation, cue),
    };
    at(plan, cue.turn)
}
