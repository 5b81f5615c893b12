//! A session without a team and without a terminal: the lead sends a scout, and tells what it found.

use super::super::conversation::Cue;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Step, at};

pub fn steps(_: Generation) -> Vec<Step> {
    let until = vec![("scout", "three files"), ("lead", "scout found")];
    vec![Step { typed: "part=lead act=scout", until }]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let plan = match cue.part.as_str() {
        "lead" => vec![
            vec![generation.delegate("scout", "Count the files of the parser")],
            vec![say("The scout found three files.")],
        ],
        _ => vec![vec![say("There are three files: a parser, its tests, a corpus.")]],
    };
    at(plan, cue.turn)
}
