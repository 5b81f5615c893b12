//! `teams/<team>/config.json`: the members and the lead of a team.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{text, whole};
use crate::{ProcessId, TaskStatus, compat, json};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeamConfig {
    pub name: Option<String>,
    /// When Claude Code created the team, in milliseconds since 1970.
    pub created_at: Option<i64>,
    /// The lead's session. `/clear` does not change it (2.1.328).
    pub lead_session: Option<String>,
    /// The lead's process, from 2.1.328 on.
    pub lead_process: Option<ProcessId>,
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: String,
    /// `name@team`.
    pub agent_id: Option<String>,
    /// `leader`, `in-process`, `%0`, or nothing.
    pub pane: Option<String>,
    pub cwd: Option<String>,
    pub prompt: Option<String>,
    /// When the member joined, in milliseconds since 1970.
    pub joined_at: Option<i64>,
    pub raw: Value,
}

impl TeamConfig {
    pub fn parse(bytes: &[u8]) -> Option<TeamConfig> {
        let file = json::parse_lossy(bytes)?;
        file.as_object()?;
        let members = file.get("members").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Some(TeamConfig {
            name: text(&file, &["name", "team_name"]),
            created_at: whole(&file, &["createdAt", "created_at"]),
            lead_session: text(&file, &["leadSessionId", "lead_session_id"]),
            lead_process: file.get("leadProcess").and_then(lead_process),
            members: members.iter().filter_map(Member::read).collect(),
        })
    }
}

fn lead_process(value: &Value) -> Option<ProcessId> {
    Some(ProcessId {
        pid: u32::try_from(whole(value, &["pid"])?).ok()?,
        space: text(value, &["pidSpace"]),
        start: text(value, &["procStart"]),
    })
}

impl Member {
    fn read(value: &Value) -> Option<Member> {
        Some(Member {
            name: text(value, &["name"])?,
            agent_id: text(value, &["agentId", "agent_id"]),
            pane: text(value, &["tmuxPaneId", "tmux_pane_id"]),
            cwd: text(value, &["cwd"]),
            prompt: text(value, &["prompt"]),
            joined_at: whole(value, &["joinedAt", "joined_at"]),
            raw: value.clone(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The number, as a string.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether it is marked as internal, so that TaskList does not show it: a teammate's tracker (2.1.47), or a task that a
    /// TaskUpdate marked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub raw: Value,
}

impl Task {
    /// Parses the file; `None` if it is not a JSON object. As in Claude Code, the id comes from the file's name, and
    /// from the content only if the name has none.
    pub fn parse(file_name: &str, bytes: &[u8]) -> Option<Task> {
        let raw = json::parse_lossy(bytes)?;
        raw.as_object()?;
        let named = file_name.strip_suffix(".json").filter(|name| !name.is_empty());
        let id = match (named, raw.get("id")) {
            (Some(name), _) => name.to_owned(),
            (None, Some(Value::String(id))) if !id.is_empty() => id.clone(),
            (None, Some(Value::Number(id))) => id.to_string(),
            (None, _) => return None,
        };
        let internal = raw.pointer("/metadata/_internal").and_then(Value::as_bool).unwrap_or(false);
        Some(Task {
            id,
            subject: text(&raw, &["subject", "title"]),
            status: text(&raw, &["status"]).map(|word| word.as_str().into()),
            owner: text(&raw, &["owner"]),
            internal,
            raw,
        })
    }

    /// The task with only `blockedBy` and `metadata` of its other fields; `None` if these are nested, because a deep value
    /// could not be read again.
    pub(super) fn without_texts(mut self) -> Option<Task> {
        let mut kept = Map::new();
        for key in ["blockedBy", "metadata"] {
            let Some(value) = self.raw.get(key) else { continue };
            let mut members = value
                .as_array()
                .into_iter()
                .flatten()
                .chain(value.as_object().into_iter().flat_map(Map::values));
            if members.any(|member| member.is_array() || member.is_object()) {
                return None;
            }
            kept.insert(key.to_owned(), value.clone());
        }
        self.raw = if kept.is_empty() { Value::Null } else { Value::Object(kept) };
        Some(self)
    }

    /// The ids of the tasks that it depends on, including completed ones.
    pub fn blocked_by(&self) -> Vec<String> {
        self.ids("blockedBy")
    }

    /// The task ids in a field, as texts or numbers.
    pub fn ids(&self, field: &str) -> Vec<String> {
        let ids = self.raw.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let text = |id: &Value| match id {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        };
        ids.iter().filter_map(text).collect()
    }

    pub fn is_tracker(&self) -> bool {
        compat::is_tracker(&self.raw)
    }

    pub fn is_done(&self) -> bool {
        self.status.as_ref().is_some_and(TaskStatus::is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_keys_are_read_and_invalid_members_are_skipped() {
        let new = br#"{"name":"t","createdAt":5,"leadSessionId":"s","leadProcess":{"pid":7,"procStart":"9"},
            "members":[{"name":"team-lead","tmuxPaneId":"leader"},{"no":"name"},7]}"#;
        let team = TeamConfig::parse(new).unwrap();
        assert_eq!((team.created_at, team.lead_session.as_deref()), (Some(5), Some("s")));
        assert_eq!(team.lead_process.unwrap(), ProcessId { pid: 7, space: None, start: Some("9".into()) });
        assert_eq!(team.members.len(), 1);
        let old = TeamConfig::parse(br#"{"team_name":"t","created_at":5.0,"members":"x"}"#).unwrap();
        assert_eq!((old.name.as_deref(), old.created_at), (Some("t"), Some(5)));
        assert_eq!(TeamConfig::parse(b"[]"), None);
        assert_eq!(TeamConfig::parse(b"{\"name\":"), None);
    }

    #[test]
    fn a_task_with_a_deep_field_is_still_a_task() {
        let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
        let text = format!(
            "{{\"id\":\"1\",\"metadata\":{{\"x\":{deep}}},\"status\":\"in_progress\",\"owner\":\"bob\"}}"
        );
        let task = Task::parse("1.json", text.as_bytes()).unwrap();
        assert_eq!((task.owner.as_deref(), task.is_done()), (Some("bob"), false));
    }

    #[test]
    fn a_task_is_read_and_a_tracker_is_recognized() {
        let task =
            Task::parse("2.json", br#"{"id":"2","subject":"Review","status":"pending","owner":""}"#).unwrap();
        assert_eq!((task.id.as_str(), task.owner, task.internal), ("2", None, false));
        let internal = |owner: &str| {
            let text = format!(
                r#"{{"subject":"bob","status":"in_progress","metadata":{{"_internal":true}},"owner":"{owner}"}}"#
            );
            Task::parse("4.json", text.as_bytes()).unwrap()
        };
        assert!(internal("").is_tracker() && internal("bob").internal && !internal("bob").is_tracker());
        assert_eq!(Task::parse("4.json", b"{}").unwrap().id, "4");
        assert_eq!(
            Task::parse("zz.json", b"{\"id\":\"1\"}").unwrap().id,
            "zz",
            "the client reads it by its name"
        );
        assert_eq!(Task::parse("4.json", b"{\"id\""), None);
    }
}
