//! Code for versions of Claude Code before 2.1.178, and for quirks of one version: one function a quirk, so that it can be
//! deleted one day.

use serde_json::Value;

use crate::payload::{Message, MessageKind, Payload};

/// Whether the text of a message may be one of Claude Code's own messages. 2.1.47 delivers a text that is such a message
/// in JSON as that message: a request stops its recipient, and an approval in the lead's inbox removes a member from the
/// team. 2.1.177 and 2.1.330 reject the text before any hook runs. Seen with these three versions.
pub fn is_json_text(message: &Message) -> bool {
    message.kind == MessageKind::Plain
        && message.text.trim_start().starts_with('{')
        && serde_json::from_str::<Value>(&message.text).is_ok()
}

/// Whether the session of a call may be a split-pane teammate's: the call has no agent and no role, which 2.1.47 omits in
/// a pane (seen). `name` is the name from an earlier call. The pane is not enough evidence, because panes of another tmux
/// server have the same names: the transcript or the payload must also name the teammate and the team.
pub fn may_be_teammate(payload: &Payload, name: Option<&str>) -> bool {
    name.is_none() && payload.agent_id().is_none() && payload.text("agent_type").is_none()
}

/// The directory of a team's configuration, by the name of the directory of its inboxes. Before 2.1.178 a team's name is
/// free text with two spellings: the configuration of `Parser_Team` is in `teams/parser-team`, its inboxes and tasks are in
/// `teams/Parser_Team` and `tasks/Parser_Team`. Seen with 2.1.47 and 2.1.177.
pub(crate) fn config_directory(inboxes: &str) -> String {
    inboxes.replace('_', "-").to_ascii_lowercase()
}

/// Whether a directory below `teams/` or `tasks/` belongs to the team, in either spelling.
pub fn is_of_team(directory: &str, team: &str) -> bool {
    let as_config_directory = |letter: u8| if letter == b'_' { b'-' } else { letter.to_ascii_lowercase() };
    directory == team
        || (directory.len() == team.len() && directory.bytes().map(as_config_directory).eq(team.bytes()))
}

/// Whether a task is a teammate's tracker, which 2.1.47 keeps for each teammate (seen): marked as internal, unassigned, and
/// named after the teammate. It is not work. In 2.1.330 a TaskUpdate can mark any task in the same way.
pub fn is_tracker(task: &Value) -> bool {
    let owner = task.get("owner").and_then(Value::as_str).unwrap_or_default();
    task.pointer("/metadata/_internal") == Some(&Value::Bool(true)) && owner.is_empty()
}

/// Whether tool events of this version name the agent, so that the actor is the lead without an agent id. Before 2.1.69
/// those of teammates and subagents have none. Seen with 2.1.47; seen with the id in 2.1.177 and 2.1.328.
pub fn names_agents(version: &str) -> bool {
    is_at_least(version, (2, 1, 69))
}

/// Whether the id of a teammate in the lead's process certainly has its name in this version. Seen with 2.1.328; in 2.1.177
/// each turn of a teammate has an id like that of a plain subagent. Versions between them were not seen.
pub fn has_named_ids(version: &str) -> bool {
    is_at_least(version, (2, 1, 328))
}

/// Whether this version delivers the final text of a teammate's turn to the lead, in the idle notice (`result`). Before
/// 2.1.251 that text is only in the teammate's transcript. Seen in each of the 26 notices of four runs of 2.1.328, in none
/// of 2.1.47 and 2.1.177. An unknown version counts as a current one.
pub fn delivers_answers(version: Option<&str>) -> bool {
    version.is_none_or(|version| is_at_least(version, (2, 1, 251)))
}

fn is_at_least(version: &str, least: (u32, u32, u32)) -> bool {
    number(version) >= least
}

/// The three numbers of a version, to compare it. A part that is not a number is 0.
pub fn number(version: &str) -> (u32, u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(names_agents("2.1.69") && names_agents("2.1.328") && names_agents("3.0"));
        assert!(has_named_ids("2.1.328") && has_named_ids("2.2") && !has_named_ids("2.1.177"));
        assert!(!names_agents("2.1.47") && !names_agents("2.1") && !names_agents("nonsense"));
    }

    #[test]
    fn answers_are_delivered_from_2_1_251_on_and_by_a_client_of_unknown_version() {
        assert!(["2.1.251", "2.1.328", "3.0"].iter().all(|version| delivers_answers(Some(version))));
        assert!(!["2.1.47", "2.1.177", "2.1.250"].iter().any(|version| delivers_answers(Some(version))));
        assert!(delivers_answers(None));
    }
}
