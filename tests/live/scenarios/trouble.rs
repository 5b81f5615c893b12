//! A team with trouble: alice never answers, bob's process is killed if it has one, carol waits for a permission, and the
//! lead writes to an agent that does not exist.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, make_task, say};
use super::super::play::HANGS;
use super::super::version::Generation;
use super::{Step, at};

const TEAM: [(&str, &str); 3] =
    [("alice", "Draft the parser"), ("bob", "Review the parser"), ("carol", "Fuzz the parser")];

/// The incidents, as [`Scenario::incidents`](super::Scenario::incidents) names them.
pub const INCIDENTS: &[&str] =
    &["stalled-agent alice", "unknown-recipient team-lead", "waiting-permission carol"];

pub const INCIDENTS_IN_PANES: &[&str] =
    &["stalled-agent alice", "crashed-agent bob", "unknown-recipient team-lead", "waiting-permission carol"];

pub fn steps(generation: Generation) -> Vec<Step> {
    let last = if generation == Generation::Session { COMMAND } else { "is done" };
    steps_of(("bob", "is reviewed"), ("carol", last))
}

pub fn steps_in_panes(_: Generation) -> Vec<Step> {
    steps_of(("bob", HANGS), ("carol", COMMAND))
}

fn steps_of(bob: (&'static str, &'static str), carol: (&'static str, &'static str)) -> Vec<Step> {
    let begun = vec![("alice", HANGS), bob, ("carol", "is ready"), ("lead", "works")];
    // After this, the client shows the request for a permission, and nothing else can be typed.
    let asked = vec![("lead", "Told carol"), carol];
    vec![Step { typed: "part=lead act=setup", until: begun }, Step { typed: "act=ask", until: asked }]
}

/// A command that is not allowed without a permission.
const COMMAND: &str = "git gc --quiet";

/// Without the request for a permission where it cannot be seen: see [`Scenario::incidents_with`](super::Scenario).
pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let finish =
        vec![vec![change_task("2", json!({"status": "completed"}))], vec![say("The parser is reviewed.")]];
    let mut plan = plan(generation, cue, finish);
    if generation != Generation::Session {
        plan.retain(|moves| !moves.iter().any(|done| matches!(done, Move::Use { tool: "Bash", .. })));
    }
    at(plan, cue.turn)
}

pub fn reply_in_panes(generation: Generation, cue: &Cue) -> Vec<Move> {
    at(plan(generation, cue, vec![vec![Move::Hang]]), cue.turn)
}

fn plan(generation: Generation, cue: &Cue, bob: Vec<Vec<Move>>) -> Vec<Vec<Move>> {
    let begin = |id: &str| vec![change_task(id, json!({"status": "in_progress", "owner": cue.part}))];
    match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "setup") => {
            let team = generation.make_team().into_iter().map(|made| vec![made]);
            let tasks = [TEAM.map(|(_, job)| make_task(job)).into()];
            let mates = TEAM.map(|(name, job)| vec![generation.spawn(name, job)]);
            team.chain(tasks).chain(mates).chain([vec![say("The team works.")]]).collect()
        }
        ("lead", "look") => vec![vec![say("The result is seen.")]],
        ("lead", _) => vec![
            vec![generation.tell("dave", "please look", "Dave, do you have a corpus?")],
            vec![generation.tell("carol", "begin", "Start to fuzz, and clean up first")],
            vec![say("Told carol to begin.")],
        ],
        ("alice", _) => vec![begin("1"), vec![Move::Hang]],
        ("bob", _) => [vec![begin("2")], bob].concat(),
        _ => vec![
            vec![say("The fuzzer is ready.")],
            begin("3"),
            vec![Move::Use { tool: "Bash", input: json!({"command": COMMAND, "description": "Clean up"}) }],
            vec![change_task("3", json!({"status": "completed"}))],
            vec![say("Fuzzing is done.")],
        ],
    }
}
