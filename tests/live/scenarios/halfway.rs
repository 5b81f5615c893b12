//! A team in the midst of its work: alice is done, bob has begun and waits, one task is nobody's.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, list_tasks, make_task, say};
use super::super::version::Generation;
use super::{Step, at, delete_step, delete_team};

const JOBS: [&str; 3] = ["Draft the parser", "Review the parser", "Fuzz the parser"];

pub fn setup() -> Step {
    let until = vec![("alice", "is drafted"), ("bob", "go on later"), ("lead", "works")];
    Step { typed: "part=lead act=setup", until }
}

/// The lead will have bob stop, however often it is told not to.
pub fn steps_of_stopping(generation: Generation) -> Vec<Step> {
    let mut steps = vec![
        setup(),
        Step { typed: "act=insist", until: vec![("bob", "shutdown_response"), ("lead", "Asked bob")] },
        Step { typed: "act=finish", until: vec![("alice", "shutdown_response"), ("lead", "Asked alice")] },
    ];
    steps.extend(delete_step(generation));
    steps
}

/// The user leaves, and nobody was told to stop.
pub fn steps_of_leaving(_: Generation) -> Vec<Step> {
    vec![setup()]
}

/// What is typed into the session that comes after.
pub const LATER: &str = "part=lead act=list";

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if let Some(request) = cue.asked.last() {
        return vec![generation.agree(request)];
    }
    let to = |status: &str| json!({"status": status});
    let ask = |name: &str, why: String| vec![generation.ask_to_stop(name, &why)];
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "setup") => {
            let mut plan: Vec<Vec<Move>> =
                generation.make_team().into_iter().map(|made| vec![made]).collect();
            plan.push(JOBS.map(make_task).into());
            let waits = json!({"addBlockedBy": ["2"]});
            plan.push(vec![change_task("1", json!({"owner": "alice"})), change_task("3", waits)]);
            plan.push(vec![change_task("2", json!({"owner": "bob"}))]);
            plan.push(vec![generation.spawn("alice", JOBS[0])]);
            plan.push(vec![generation.spawn("bob", JOBS[1])]);
            plan.push(vec![say("The team works.")]);
            plan
        }
        ("lead", "insist") => {
            // A model that thinks before it asks again: blocks in quick succession count once.
            let again = |time| [ask("bob", format!("Stop now, time {time}")), vec![Move::Wait(3)]].concat();
            let mut plan: Vec<Vec<Move>> = (1..5).map(again).collect();
            plan.push(vec![say("Asked bob four times.")]);
            plan
        }
        ("lead", "finish") => vec![ask("alice", "All is done".to_owned()), vec![say("Asked alice.")]],
        ("lead", "delete") => delete_team(generation),
        ("lead", "list") => vec![vec![list_tasks()], vec![say("Listed.")]],
        ("alice", _) => vec![
            vec![change_task("1", to("in_progress"))],
            vec![generation.tell("team-lead", "parser drafted", "The draft is in parser.rs")],
            vec![change_task("1", to("completed"))],
            vec![say("The parser is drafted.")],
        ],
        ("bob", _) => vec![
            vec![change_task("2", to("in_progress"))],
            vec![generation.tell("team-lead", "review started", "I have read half of it")],
            vec![say("I will go on later.")],
        ],
        _ => Vec::new(),
    };
    at(plan, cue.turn)
}
