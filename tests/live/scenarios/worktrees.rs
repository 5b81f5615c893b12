//! A subagent works in a git worktree of its own, and the lead in one that it discards.

use serde_json::{Value, json};

use super::super::conversation::Cue;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Step, at};

/// The name of the lead's worktree.
pub const SPIKE: &str = "spike";
/// The files that the lead and the subagent leave uncommitted.
pub const FILES: [&str; 2] = ["spike.txt", "scout.txt"];

pub fn steps(_: Generation) -> Vec<Step> {
    let until = vec![("scout", "is written"), ("lead", "is discarded")];
    vec![Step { typed: "part=lead act=spike", until }]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if cue.part != "lead" {
        return at(vec![write(FILES[1]), vec![say("The file is written.")]], cue.turn);
    }
    let mut plan = vec![
        bash("git config user.name team && git config user.email team@example.org"),
        bash("git commit --quiet --allow-empty -m 'Begin'"),
        vec![generation.delegate("scout", "Write a file").in_worktree()],
    ];
    // There the scout runs in the background, and its end begins another turn.
    plan.extend((generation == Generation::Session).then(|| vec![say("The scout works.")]));
    plan.extend([
        tool("EnterWorktree", json!({"name": SPIKE})),
        write(FILES[0]),
        tool("ExitWorktree", json!({"action": "remove", "discard_changes": true})),
        vec![say("The worktree is discarded.")],
    ]);
    at(plan, cue.turn)
}

/// Writes a file that holds its own name.
fn write(file: &str) -> Vec<Move> {
    bash(&format!("echo {file} > {file}"))
}

fn bash(command: &str) -> Vec<Move> {
    tool("Bash", json!({"command": command, "description": "Work with git"}))
}

fn tool(tool: &'static str, input: Value) -> Vec<Move> {
    vec![Move::Use { tool, input }]
}
