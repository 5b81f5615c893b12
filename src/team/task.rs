//! `tasks/<team>/<n>.json`: one task.

use serde_json::Value;

use super::text;
use crate::json;
use crate::model::TaskStatus;

/// One state of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The number, as a string.
    pub id: String,
    /// The subject.
    pub subject: Option<String>,
    /// The status.
    pub status: Option<TaskStatus>,
    /// The owner; `None` if unassigned.
    pub owner: Option<String>,
    /// Whether it is marked as internal, so that TaskList does not show it: a teammate's tracker (2.1.47), or a task that a
    /// TaskUpdate marked.
    pub internal: bool,
    /// The task's JSON object.
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

    /// The ids of the tasks that it depends on, including completed ones.
    pub fn blocked_by(&self) -> Vec<String> {
        let ids = self.raw.get("blockedBy").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let text =
            |id: &Value| id.as_str().map(str::to_owned).or_else(|| id.as_i64().map(|id| id.to_string()));
        ids.iter().filter_map(text).collect()
    }

    /// Whether it is a teammate's tracker (2.1.47) and not a task: named after the teammate, in progress, unassigned.
    pub fn is_tracker(&self) -> bool {
        self.internal && self.owner.is_none()
    }

    /// Whether the task is completed or deleted.
    pub fn is_done(&self) -> bool {
        self.status.as_ref().is_some_and(TaskStatus::is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_task_is_read_and_a_tracker_is_told_apart() {
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
