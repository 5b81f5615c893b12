//! The team of [`halfway`](super::halfway), and a plain subagent whose role is the name of a teammate that lives.

use super::super::conversation::Cue;
use super::super::look::Look;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Step, at, halfway};

/// The role, and the teammate.
pub const ROLE: &str = "bob";

/// Its definition in the project.
pub const FILES: &[(&str, &str)] =
    &[(".claude/agents/bob.md", "---\nname: bob\ndescription: Reviews files\n---\nYou review files.\n")];

const HELP: &str = "act=help";

/// Bob is still there: it owns a task, and only the subagent has ended.
pub fn looks(_: Generation) -> Vec<Look> {
    let lacks = &["bob  left", "bob: gone", "bob: left", "bob  gone", "bob left", "crashed-agent"];
    vec![
        Look { after: Some(HELP), command: &["status"], shows: &["bob"], lacks },
        Look { after: Some(HELP), command: &["brief"], shows: &["bob"], lacks },
        Look { after: Some(HELP), command: &["log", "latest"], shows: &["The helper has reviewed."], lacks },
        Look { after: None, command: &["report", "latest"], shows: &["bob"], lacks: &["crashed-agent"] },
    ]
}

pub fn steps(generation: Generation) -> Vec<Step> {
    let mut steps = halfway::steps_of_leaving(generation);
    steps.push(Step { typed: HELP, until: vec![("helper", "has reviewed"), ("lead", "got help")] });
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "help") => {
            let delegate = generation.delegate("helper", "Review a file").with("subagent_type", ROLE);
            at(vec![vec![delegate], vec![say("I got help.")]], cue.turn)
        }
        ("helper", _) => vec![say("The helper has reviewed.")],
        _ => halfway::reply(generation, cue),
    }
}
