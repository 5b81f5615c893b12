//! A teammate that must have its plan approved. Claude Code approves it by itself, before the lead has read it.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::look::Look;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Step, at, delete_step, delete_team};

const PLAN: &str = "part=lead act=plan";

/// Who approved is told, and nobody waits for the lead.
pub fn looks(_: Generation) -> Vec<Look> {
    let shows = &["asked team-lead to approve a plan", "Claude Code approved the plan of alice"];
    let lacks = &["team-lead approved the plan"];
    vec![
        Look { after: Some(PLAN), command: &["status"], shows: &["alice"], lacks: &["waiting for approval"] },
        Look { after: None, command: &["log", "latest"], shows, lacks },
        Look { after: None, command: &["report", "latest"], shows: &[], lacks: &["waiting-approval"] },
    ]
}

pub fn steps(generation: Generation) -> Vec<Step> {
    let done = vec![("alice", "plan is carried out"), ("lead", "Alice plans")];
    let mut steps = vec![Step { typed: PLAN, until: done }];
    steps.push(Step {
        typed: "act=stop",
        until: vec![("alice", "shutdown_response"), ("lead", "Asked alice")],
    });
    steps.extend(delete_step(generation));
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if let Some(request) = cue.asked.last() {
        return vec![generation.agree(request)];
    }
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "plan") => {
            let mut plan: Vec<Vec<Move>> =
                generation.make_team().into_iter().map(|made| vec![made]).collect();
            plan.push(vec![generation.spawn("alice", "Draft the parser").with("mode", "plan")]);
            plan.push(vec![say("Alice plans.")]);
            plan
        }
        ("lead", "stop") => {
            vec![vec![generation.ask_to_stop("alice", "All is done")], vec![say("Asked alice.")]]
        }
        ("lead", "delete") => delete_team(generation),
        ("alice", _) => {
            let plan = json!({"plan": "1. Draft. 2. Test."});
            let ask = Move::Use { tool: "ExitPlanMode", input: plan };
            vec![
                vec![ask],
                vec![generation.tell("team-lead", "parser drafted", "As planned")],
                vec![say("The plan is carried out.")],
            ]
        }
        _ => Vec::new(),
    };
    at(plan, cue.turn)
}
