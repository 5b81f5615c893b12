//! A team whose requests to the model fail: alice at a rate limit, until the lead writes to her; bob because the API is
//! overloaded, for good.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, make_task, say};
use super::super::version::Generation;
use super::{Step, at, delete_step, delete_team};

const JOBS: [&str; 2] = ["Draft the parser", "Review the parser"];

const LIMIT: Move =
    Move::Fail { status: 429, kind: "rate_limit_error", message: "This would exceed the rate limit" };
const OVERLOADED: Move = Move::Fail { status: 529, kind: "overloaded_error", message: "Overloaded" };

/// The incidents, as [`Scenario::incidents`](super::Scenario::incidents) names them.
pub const INCIDENTS: &[&str] = &["failed-agent alice", "failed-agent bob"];

/// The turns that failed.
pub const HALTS: &[&str] = &["turn-failed alice", "turn-failed bob"];

pub fn steps(generation: Generation) -> Vec<Step> {
    let failed = vec![("alice", "rate limit"), ("bob", "Overloaded"), ("lead", "works")];
    let mut steps = vec![
        Step { typed: "part=lead act=setup", until: failed },
        Step { typed: "act=ask", until: vec![("alice", "is drafted")] },
    ];
    steps.extend(delete_step(generation));
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let begin = |task: &str| vec![change_task(task, json!({"status": "in_progress", "owner": cue.part}))];
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "setup") => {
            let mut plan: Vec<Vec<Move>> =
                generation.make_team().into_iter().map(|made| vec![made]).collect();
            plan.push(JOBS.map(make_task).into());
            plan.push(vec![generation.spawn("alice", JOBS[0])]);
            plan.push(vec![generation.spawn("bob", JOBS[1])]);
            plan.push(vec![say("The team works.")]);
            plan
        }
        ("lead", "ask") => {
            vec![
                vec![generation.tell("alice", "try again", "act=again Please try again")],
                vec![say("Asked alice.")],
            ]
        }
        ("lead", "delete") => delete_team(generation),
        ("alice", "again") => {
            vec![vec![change_task("1", json!({"status": "completed"}))], vec![say("The parser is drafted.")]]
        }
        ("alice", _) => vec![begin("1"), vec![LIMIT]],
        ("bob", _) => vec![begin("2"), vec![OVERLOADED]],
        _ => Vec::new(),
    };
    at(plan, cue.turn)
}
