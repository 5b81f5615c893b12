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

/// Restores the tasks of the run, and has the session list them that the printed command starts.
fn restore(played: &Played, version: Version) -> Result<(), String> {
    let left: Vec<String> =
        played.home.left().into_iter().filter(|path| path.starts_with("teams/")).collect();
    // 2.1.47 leaves a team behind that was not deleted.
    if !left.is_empty() && version.generation() != Generation::Flat {
        return Err(format!("the client was left, and the team's files are there: {left:?}"));
    }
    let output = played.home.output(&["restore", "latest", "--yes"])?;
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    let start = "to start a session with them: ";
    let command = shown.lines().find_map(|line| line.strip_prefix(start));
    let (variables, arguments) = command
        // The directory of the project comes first if it is another one.
        .and_then(|command| command.rsplit(" && ").next()?.split_once("claude "))
        .ok_or_else(|| format!("teamkeep restore shows no command that starts a session: {shown}"))?;
    second(played, variables.trim(), arguments.trim())
}

/// What the second session's model read when it listed the tasks.
pub fn listed(played: &Played) -> Option<String> {
    let entries = played.ledger.entries();
    let asked = entries.iter().find(|entry| matches!(entry.done, Move::Use { tool: "TaskList", .. }))?;
    played.ledger.outcome(&asked.id).map(|outcome| outcome.text)
}
