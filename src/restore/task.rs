//! Formats a task so that Claude Code can read it.

use serde_json::{Map, Value, json};

use crate::model::TaskStatus;
use crate::team::Task;

/// The values to write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskValues<'a> {
    pub id: u64,
    pub status: &'a TaskStatus,
    pub owner: Option<&'a str>,
    pub blocks: &'a [String],
    pub blocked_by: &'a [String],
}

/// The file's content, with unknown keys, in Claude Code's format: indented by two spaces, without a final line break.
/// Claude Code ignores a task with missing or invalid texts or lists.
pub(super) fn text(recorded: &Task, terms: &TaskValues<'_>) -> serde_json::Result<Vec<u8>> {
    let (raw, mut task) = (&recorded.raw, Map::new());
    let description = raw.get("description").and_then(Value::as_str).unwrap_or_default();
    task.insert("id".to_owned(), json!(terms.id.to_string()));
    task.insert("subject".to_owned(), json!(recorded.subject.as_deref().unwrap_or_default()));
    task.insert("description".to_owned(), json!(description));
    for (key, value) in raw.as_object().into_iter().flatten() {
        let fits = match key.as_str() {
            "id" | "subject" | "description" | "status" | "owner" | "blocks" | "blockedBy" => false,
            "activeForm" => value.is_string(),
            "metadata" => value.is_object(),
            _ => true,
        };
        if fits {
            task.insert(key.clone(), value.clone());
        }
    }
    if let Some(owner) = terms.owner {
        task.insert("owner".to_owned(), json!(owner));
    }
    task.insert("status".to_owned(), json!(terms.status));
    task.insert("blocks".to_owned(), json!(terms.blocks));
    task.insert("blockedBy".to_owned(), json!(terms.blocked_by));
    serde_json::to_vec_pretty(&Value::Object(task))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_would_refuse_is_mended_and_the_rest_is_kept() {
        let raw = json!({"id": 7, "subject": "Über \u{1f4a5}", "activeForm": null, "owner": "bob",
            "status": "doing", "blocks": "x", "metadata": 3, "more": [1]});
        let blocked_by = ["4".to_owned()];
        let terms = TaskValues {
            id: 9,
            status: &TaskStatus::Pending,
            owner: None,
            blocks: &[],
            blocked_by: &blocked_by,
        };
        let text = String::from_utf8(
            text(&Task::parse("7.json", raw.to_string().as_bytes()).unwrap(), &terms).unwrap(),
        )
        .unwrap();
        insta::assert_snapshot!(text, @r#"
        {
          "id": "9",
          "subject": "Über 💥",
          "description": "",
          "more": [
            1
          ],
          "status": "pending",
          "blocks": [],
          "blockedBy": [
            "4"
          ]
        }
        "#);
    }
}
