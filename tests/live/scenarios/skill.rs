//! A skill with a line that a rule for Bash forbids: the lead loads it, a teammate does, and the user types its name.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::look::Look;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{RULE, Step, at};

/// The skill, and what its line would leave in the project.
pub const FILES: &[(&str, &str)] = &[(
    ".claude/skills/ship/SKILL.md",
    "---\nname: ship\ndescription: Ship the branch\n---\nact=shipped\n!`touch pushed; git push --force origin main`\n",
)];
pub const LEFT: &str = "pushed";
/// How often it is loaded, and what the model reads then.
pub const LOADS: usize = 3;
pub const READ: &str = "[not run: blocked by hook: Blocked: Force pushes rewrite shared history.";

pub fn looks(_: Generation) -> Vec<Look> {
    let shows = &["alice", "team-lead", "was blocked: Force pushes rewrite shared history."];
    vec![Look { after: None, command: &["log", "latest", "--kind", "verdict"], shows, lacks: &[] }]
}

pub fn steps(_: Generation) -> Vec<Step> {
    let loaded = vec![("alice", "Shipped"), ("lead", "Alice ships")];
    vec![
        Step { typed: "part=lead act=team", until: loaded },
        Step { typed: "act=push", until: vec![("lead", "not pushed")] },
        Step { typed: "act=ship", until: vec![("lead", "Shipped by lead")] },
        Step { typed: "/ship", until: Vec::new() },
    ]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    let ship = || vec![Move::Use { tool: "Skill", input: json!({"skill": "ship"}) }];
    let bash = |command: &str| Move::Use {
        tool: RULE.tool,
        input: json!({"command": command, "description": "Push"}),
    };
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "team") => {
            vec![vec![generation.spawn("alice", "Ship the branch")], vec![say("Alice ships.")]]
        }
        ("lead", "push") => vec![vec![bash("git push --force origin main")], vec![say("It is not pushed.")]],
        ("lead", "ship") => vec![ship(), vec![say("Shipped by lead.")]],
        ("lead", _) => vec![vec![say("Shipped by lead.")]],
        ("alice", "shipped") => vec![vec![say("Shipped.")]],
        ("alice", _) => vec![ship(), vec![say("Shipped.")]],
        _ => Vec::new(),
    };
    at(plan, cue.turn)
}
