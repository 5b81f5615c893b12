//! A team reaches the limit of its budget: no new work starts, and the work in progress ends in order.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, make_task, say};
use super::super::version::Generation;
use super::{Guarded, Step, at, begin, delete_step, delete_team};

/// A limit that blocks, and limits that the team never reaches.
pub const BUDGET: Guarded = Guarded {
    name: "the budget",
    policy: "[[policy.budget.limit]]\nper = \"run\"\nusd = 50\nblock-at = \"100%\"\n\n\
             [[policy.budget.limit]]\nper = \"agent\"\nusd = 500\n\n\
             [[policy.budget.limit]]\nper = \"task\"\nusd = 500\n\n\
             [[policy.budget.limit]]\nper = \"hour\"\nusd = 500\n",
    tools: &[],
    made: &[],
    verdicts: |_| {
        let warning = ("warn", "budget");
        let block = ("block", "budget");
        vec![warning, block, block, block, warning]
    },
    read: |_| {
        vec![
            ("lead", "\"dora\"", "Blocked: starting agent dora beyond the budget: the team spent $5"),
            ("lead", "Publish the parser", "Blocked: creating a task beyond the budget: the team spent $5"),
            ("lead", "Do more", "Blocked: waking carol, which is idle, beyond the budget: the team spent $5"),
        ]
    },
};

/// What the lead reads beside the results of its calls: pieces of the two warnings.
pub const WARNINGS: [[&str; 2]; 2] =
    [["$50.00 (8", "At 100% new agents"], ["$50.00 (10", "From now on new agents"]];

/// Web searches at a cent each. Other than tokens, they do not fill the context of the model.
const MOST_OF_IT: u64 = 4_200;
const THE_REST: u64 = 900;

pub fn steps(generation: Generation) -> Vec<Step> {
    let done = vec![("alice", "is drafted"), ("bob", "is reviewed"), ("lead", "It ends")];
    let stopped = vec![
        ("alice", "shutdown_response"),
        ("bob", "shutdown_response"),
        ("carol", "shutdown_response"),
        ("lead", "Asked all"),
    ];
    let mut steps = vec![
        Step {
            typed: "part=lead act=setup",
            until: vec![
                ("alice", "Half of it"),
                ("bob", "read along"),
                ("carol", "ready"),
                ("lead", "works"),
            ],
        },
        Step { typed: "act=ask", until: vec![("bob", "Most of it"), ("lead", "I asked")] },
        Step { typed: "act=more", until: vec![("lead", "No more")] },
        Step { typed: "act=end", until: done },
        Step { typed: "act=stop", until: stopped },
    ];
    steps.extend(delete_step(generation));
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if let Some(request) = cue.asked.last() {
        return vec![generation.agree(request)];
    }
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", act) => lead(generation, act),
        // 2.1.47 starts another turn for the assignment.
        ("alice", "") => {
            let half = || say("Half of it is drafted.");
            vec![begin("1"), vec![half(), Move::Search(MOST_OF_IT)], vec![half()]]
        }
        ("alice", "alice-end") => end(generation, "1", "The parser is drafted."),
        ("bob", "") => vec![begin("2"), vec![say("I read along.")]],
        ("bob", "bob-ask") => {
            let most = || say("Most of it is reviewed.");
            vec![vec![most(), Move::Search(THE_REST)], vec![most()]]
        }
        ("bob", "bob-end") => end(generation, "2", "The parser is reviewed."),
        _ => vec![vec![say("I am ready.")]],
    };
    at(plan, cue.turn)
}

fn lead(generation: Generation, act: &str) -> Vec<Vec<Move>> {
    let turn = |name: &str, act: &str| {
        generation.tell(name, "your turn", &format!("It is your turn: act={name}-{act}"))
    };
    match act {
        "setup" => {
            let mut plan: Vec<Vec<Move>> =
                generation.make_team().into_iter().map(|made| vec![made]).collect();
            plan.extend([
                vec![make_task("Draft the parser"), make_task("Review the parser")],
                vec![change_task("1", json!({"owner": "alice"})), change_task("2", json!({"owner": "bob"}))],
                vec![generation.spawn("carol", "Wait for work")],
                vec![generation.spawn("bob", "Review the parser")],
                vec![generation.spawn("alice", "Draft the parser")],
                vec![say("The team works.")],
            ]);
            plan
        }
        // The result of a message has its text, and with it another act.
        "ask" => vec![vec![turn("bob", "ask")]],
        "bob-ask" => vec![vec![say("I asked for news.")]],
        "more" => vec![
            vec![
                generation.spawn("dora", "Publish"),
                make_task("Publish the parser"),
                generation.tell("carol", "more work", "Do more"),
            ],
            vec![say("No more work can start.")],
        ],
        "end" => vec![vec![turn("alice", "end"), turn("bob", "end")]],
        "alice-end" | "bob-end" => vec![vec![say("It ends.")]],
        "stop" => {
            let ask = |name: &str| generation.ask_to_stop(name, "All work is done");
            vec![vec![ask("alice")], vec![ask("bob")], vec![ask("carol")], vec![say("Asked all to stop.")]]
        }
        _ => delete_team(generation),
    }
}

/// A teammate completes its task and reports.
fn end(generation: Generation, task: &str, words: &str) -> Vec<Vec<Move>> {
    vec![
        vec![change_task(task, json!({"status": "completed"}))],
        vec![generation.tell("team-lead", "done", words)],
        vec![say(words)],
    ]
}
