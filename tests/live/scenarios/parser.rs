//! A team from its beginning to its end: alice drafts, bob reviews, carol fuzzes and will not stop at once.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, make_task, say};
use super::super::version::Generation;
use super::{Step, at, delete_step, delete_team};

const TEAM: [(&str, &str); 3] =
    [("alice", "Draft the parser"), ("bob", "Review the parser"), ("carol", "Fuzz the parser")];

pub fn steps(generation: Generation) -> Vec<Step> {
    let stopped = vec![
        ("alice", "shutdown_response"),
        ("bob", "shutdown_response"),
        ("carol", "two more minutes"),
        ("lead", "Asked everyone"),
    ];
    steps_of(generation, vec![Step { typed: "act=stop", until: stopped }])
}

/// The same in panes: bob is asked after alice has left. If two teammates approve within a second, 2.1.177 can keep one
/// of them in the roster.
pub fn steps_in_panes(generation: Generation) -> Vec<Step> {
    let one = vec![("alice", "shutdown_response"), ("lead", "Asked alice")];
    let others =
        vec![("bob", "shutdown_response"), ("carol", "two more minutes"), ("lead", "Asked the others")];
    let one = Step { typed: "act=stop-one", until: one };
    steps_of(generation, vec![one, Step { typed: "act=stop-others", until: others }])
}

fn steps_of(generation: Generation, stopping: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![Step {
        typed: "part=lead act=setup",
        until: vec![("alice", "is drafted"), ("bob", "is reviewed"), ("carol", "is done"), ("lead", "works")],
    }];
    steps.extend(stopping);
    steps.push(Step {
        typed: "act=again",
        until: vec![("carol", "\"approve\":true"), ("lead", "Asked carol")],
    });
    steps.extend(delete_step(generation));
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    match cue.part.as_str() {
        "lead" => at(lead(generation, &cue.act), cue.turn),
        _ => stopping(generation, cue).unwrap_or_else(|| at(teammate(generation, &cue.part), cue.turn)),
    }
}

/// The same, with the tasks left out.
pub fn reply_without_tasks(generation: Generation, cue: &Cue) -> Vec<Move> {
    let without = |plan: Vec<Vec<Move>>| {
        let about_tasks = |done: &Move| matches!(done, Move::Use { tool: "TaskCreate" | "TaskUpdate", .. });
        plan.into_iter().filter(|moves| !moves.iter().any(about_tasks)).collect()
    };
    match cue.part.as_str() {
        "lead" => at(without(lead(generation, &cue.act)), cue.turn),
        _ => stopping(generation, cue)
            .unwrap_or_else(|| at(without(teammate(generation, &cue.part)), cue.turn)),
    }
}

fn lead(generation: Generation, act: &str) -> Vec<Vec<Move>> {
    match act {
        "setup" => {
            let mut plan: Vec<Vec<Move>> =
                generation.make_team().into_iter().map(|made| vec![made]).collect();
            plan.push(TEAM.map(|(_, job)| make_task(job)).into());
            let waits = json!({"owner": "bob", "addBlockedBy": ["1"]});
            plan.push(vec![change_task("1", json!({"owner": "alice"})), change_task("2", waits)]);
            plan.extend(TEAM.map(|(name, job)| vec![generation.spawn(name, job)]));
            plan.push(vec![say("The team works.")]);
            plan
        }
        "stop" => stop(generation, &TEAM, "Asked everyone to stop."),
        "stop-one" => stop(generation, &TEAM[..1], "Asked alice to stop."),
        "stop-others" => stop(generation, &TEAM[1..], "Asked the others to stop."),
        "again" => {
            vec![vec![generation.ask_to_stop("carol", "Please stop now")], vec![say("Asked carol again.")]]
        }
        _ => delete_team(generation),
    }
}

/// The lead asks some of its teammates to stop, all at once.
fn stop(generation: Generation, some: &[(&str, &str)], said: &str) -> Vec<Vec<Move>> {
    let asked = some.iter().map(|(name, _)| generation.ask_to_stop(name, "All work is done"));
    vec![asked.collect(), vec![say(said)]]
}

/// What a teammate answers to a request to stop.
fn stopping(generation: Generation, cue: &Cue) -> Option<Vec<Move>> {
    let request = cue.asked.last()?;
    let unwilling = cue.part == "carol" && cue.answered == 0;
    Some(vec![if unwilling {
        generation.refuse(request, "The fuzz run needs two more minutes")
    } else {
        generation.agree(request)
    }])
}

fn teammate(generation: Generation, name: &str) -> Vec<Vec<Move>> {
    let to = |status: &str| json!({"status": status});
    match name {
        "alice" => vec![
            vec![change_task("1", to("in_progress"))],
            vec![
                generation.tell("team-lead", "parser drafted", &report()),
                generation.tell("bob", "ready for review", "parser.rs is ready for review"),
            ],
            vec![change_task("1", to("completed"))],
            vec![say("The parser is drafted.")],
        ],
        "bob" => vec![
            vec![change_task("2", to("in_progress"))],
            vec![generation.tell("team-lead", "review started", "I have read half of it")],
            vec![change_task("2", to("completed"))],
            vec![say("The parser is reviewed.")],
        ],
        _ => vec![
            vec![change_task("3", json!({"status": "in_progress", "owner": "carol"}))],
            vec![generation.tell(
                "alice",
                "crash found",
                "Input \"((\" crashes the parser: über-deep nesting — see 💥",
            )],
            vec![generation.tell(
                "team-lead",
                "fuzz report",
                "One <crash> found & \\kept\\ in `corpus/`,\n\tline 3",
            )],
            vec![change_task("3", to("completed"))],
            vec![say("Fuzzing is done.")],
        ],
    }
}

/// A message that is far longer than what hooks show of it.
fn report() -> String {
    let lines =
        (0..240).map(|line| format!("{line:03}  The parser reads one token at a time and keeps its span.\n"));
    format!("# Parser report\n\n{}", lines.collect::<String>().trim_end())
}
