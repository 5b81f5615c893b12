//! A session without a team in which a rule of the user forbids a command: the lead tries it, and so does a scout.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Rule, Step, at};

/// The rule of docs/reference/policy.md.
pub const RULE: Rule = Rule {
    name: "no-force-push",
    policy: include_str!("../../rules/no-force-push.toml"),
    tool: "Bash",
    forbidden: "git push --force",
    reason: "Force pushes rewrite shared history.",
};

pub fn steps(_: Generation) -> Vec<Step> {
    let until = vec![("scout", "may not push"), ("lead", "is not pushed")];
    vec![Step { typed: "part=lead act=push", until }]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let plan = match cue.part.as_str() {
        "lead" => vec![
            vec![bash("git status --short")],
            vec![generation.delegate("scout", "Push the branch")],
            vec![bash("git push --force origin main")],
            vec![say("The branch is not pushed.")],
        ],
        _ => vec![
            vec![bash("git add . && git push --force")],
            vec![bash("git log --oneline || true")],
            vec![say("I may not push.")],
        ],
    };
    at(plan, cue.turn)
}

fn bash(command: &str) -> Move {
    Move::Use { tool: RULE.tool, input: json!({"command": command, "description": "Work with git"}) }
}
