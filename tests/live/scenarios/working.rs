//! The team of [`halfway`](super::halfway), with bob in the middle of its turn.

use super::super::conversation::Cue;
use super::super::moves::Move;
use super::super::play::HANGS;
use super::super::version::Generation;
use super::{Step, halfway};

pub fn steps(_: Generation) -> Vec<Step> {
    let until = vec![("alice", "is drafted"), ("bob", HANGS), ("lead", "works")];
    vec![Step { typed: "part=lead act=setup", until }]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if cue.part == "bob" && cue.turn > 1 { vec![Move::Hang] } else { halfway::reply(generation, cue) }
}
