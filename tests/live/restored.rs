//! A second session that goes on with the tasks of the first: restored by teamkeep, listed by the client.

use super::ending::{self, SKIP};
use super::moves::Move;
use super::play::{Played, command, session};
use super::scenarios::{LATER, Step};
use super::version::{Generation, Version};

/// Restores the tasks of the run into a new list, and has a new session list them.
pub fn play(played: &Played, version: Version) -> Result<(), String> {
    let left: Vec<String> =
        played.home.left().into_iter().filter(|path| path.starts_with("teams/")).collect();
    // 2.1.47 leaves a team behind that was not deleted.
    if !left.is_empty() && version.generation() != Generation::Flat {
        return Err(format!("the client was left, and the team's files are there: {left:?}"));
    }
    let id = std::fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(|error| error.to_string())?;
    let id = id.trim();
    let (list, variables, arguments) = match version.generation() {
        Generation::Session => (id, "", format!("--session-id {id}")),
        _ => ("parser-again", "CLAUDE_CODE_TASK_LIST_ID=parser-again", String::new()),
    };
    played.home.teamkeep(&["restore", "latest", "--tasks", list, "--yes"])?;
    let steps = [Step { typed: LATER, until: vec![("lead", "Listed")] }];
    let command = command(variables, SKIP, &arguments);
    session(played, &steps, &command, ending::exit)
}

/// What the second session's model read when it listed the tasks.
pub fn listed(played: &Played) -> Option<String> {
    let entries = played.ledger.entries();
    let asked = entries.iter().find(|entry| matches!(entry.done, Move::Use { tool: "TaskList", .. }))?;
    played.ledger.outcome(&asked.id).map(|outcome| outcome.text)
}
