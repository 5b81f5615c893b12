//! A second session, which lists the tasks: those that teamkeep restored, or those of the first session, which it resumes.

use super::ending::{self, SKIP};
use super::moves::Move;
use super::play::{Played, command, session};
use super::record::text;
use super::scenarios::{LATER, Step, Then};
use super::version::{Generation, Version};
use super::witness;

/// Plays the second session, if there is one.
pub fn play(played: &Played, version: Version, then: Then) -> Result<(), String> {
    match then {
        Then::Nothing => Ok(()),
        Then::Restored => restore(played, version),
        Then::Resumed => {
            let first = witness::payloads(&played.home.root).into_iter().next().unwrap_or_default();
            second(played, "", &format!("--resume {} --teammate-mode in-process", text(&first, "session_id")))
        }
    }
}

fn second(played: &Played, variables: &str, arguments: &str) -> Result<(), String> {
    let steps = [Step { typed: LATER, until: vec![("lead", "Listed")] }];
    session(played, &steps, &command(variables, SKIP, arguments), ending::exit)
}

/// Restores the tasks of the run into a new list, and has a new session list them.
fn restore(played: &Played, version: Version) -> Result<(), String> {
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
    second(played, variables, &arguments)
}

/// What the second session's model read when it listed the tasks.
pub fn listed(played: &Played) -> Option<String> {
    let entries = played.ledger.entries();
    let asked = entries.iter().find(|entry| matches!(entry.done, Move::Use { tool: "TaskList", .. }))?;
    played.ledger.outcome(&asked.id).map(|outcome| outcome.text)
}
