//! Typed views of the team tools' inputs and responses, in the old and the new shape.

use serde_json::Value;

use super::{EventKind, Payload};
use crate::{TaskStatus, Tool};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageKind {
    /// Plain text to one agent, or to all (`*`).
    Plain,
    ShutdownRequest,
    ShutdownResponse {
        approve: bool,
    },
    /// Any other kind, in Claude Code's spelling (`plan_approval_response`).
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub kind: MessageKind,
    /// The recipient, as resolved by the response, or else as written; `*` for all; `None` if the shape has none
    /// (2.1.47, a response).
    pub to: Option<String>,
    pub summary: Option<String>,
    /// The full text; the reason of a request or a response.
    pub text: String,
    /// Whether a response agrees.
    pub approve: Option<bool>,
    /// The id of the request that the message makes (known from PostToolUse on) or answers: `shutdown-<ms>@<name>`.
    pub request: Option<String>,
}

impl Message {
    /// Reads the input of a SendMessage call and, on PostToolUse, its response.
    ///
    /// PreToolUse of 2.1.177 and later has both shapes at once, with `content` truncated: `message` takes precedence.
    pub fn of(input: &Value, response: &Value) -> Option<Message> {
        let text_at = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        // An empty value does not take precedence over another spelling of the field.
        let word_at = |value: &Value, key: &str| text_at(value, key).filter(|word| !word.is_empty());
        let body = input.get("message").filter(|body| !body.is_null());
        let shape = body.filter(|body| body.is_object());
        let word = shape.and_then(|body| word_at(body, "type")).or_else(|| word_at(input, "type"));
        let approve = shape.unwrap_or(input).get("approve").and_then(truth);
        let kind = match word.as_deref() {
            None | Some("message" | "broadcast") => MessageKind::Plain,
            Some("shutdown_request") => MessageKind::ShutdownRequest,
            Some("shutdown_response") => MessageKind::ShutdownResponse { approve: approve.unwrap_or(false) },
            Some(other) => MessageKind::Other(other.to_owned()),
        };
        let to = word_at(input, "to").or_else(|| word_at(input, "recipient"));
        let to = to.or_else(|| (word.as_deref() == Some("broadcast")).then(|| "*".to_owned()));
        // Recipient names are case-insensitive (2.1.328); the response has the member's spelling. For a message to all
        // it has `@team`.
        let target = word_at(response.get("routing").unwrap_or(response), "target");
        let reached = target.map(|target| target.trim_start_matches('@').to_owned());
        let to = match to.as_deref() {
            Some("*") => to,
            _ => reached.filter(|name| !name.is_empty()).or(to),
        };
        let said = |body: &Value| {
            ["reason", "feedback", "content", "text"].iter().find_map(|key| text_at(body, key))
        };
        let text = match (body, shape) {
            (_, Some(shape)) => said(shape),
            (Some(body), None) => Some(body.as_str().map_or_else(|| body.to_string(), str::to_owned)),
            (None, None) => said(input),
        };
        let request = [shape, Some(input), Some(response)]
            .into_iter()
            .flatten()
            .find_map(|value| word_at(value, "request_id").or_else(|| word_at(value, "requestId")));
        if body.is_none() && to.is_none() && word.is_none() && text.is_none() {
            return None;
        }
        let summary = text_at(input, "summary").filter(|summary| !summary.is_empty());
        Some(Message { kind, to, summary, text: text.unwrap_or_default(), approve, request })
    }

    /// The agent name in a request id: the recipient of a shutdown request (`shutdown-1795149516289@alice`).
    pub fn asked(&self) -> Option<&str> {
        let (_, name) = self.request.as_deref()?.rsplit_once('@')?;
        Some(name).filter(|name| !name.is_empty())
    }
}

/// A Boolean, also if the model wrote it as a string.
fn truth(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| match value.as_str()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskUpdate {
    pub task: String,
    pub status: Option<TaskStatus>,
    /// The requested owner; empty to unassign the task.
    pub owner: Option<String>,
    pub subject: Option<String>,
    /// Old and new status, if the response reports the change (PostToolUse).
    pub change: Option<(TaskStatus, TaskStatus)>,
    /// Whether the update succeeded; `None` before it ran.
    pub success: Option<bool>,
}

impl TaskUpdate {
    pub fn of(input: &Value, response: &Value) -> Option<TaskUpdate> {
        let text = |value: &Value, key: &str| match value.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let status = |value: &Value, key: &str| Some(TaskStatus::from(text(value, key)?.as_str()));
        let change = response.get("statusChange");
        Some(TaskUpdate {
            task: ["taskId", "task_id"]
                .into_iter()
                .find_map(|key| text(input, key).filter(|task| !task.is_empty()))?,
            status: status(input, "status"),
            owner: text(input, "owner"),
            subject: text(input, "subject"),
            change: change.and_then(|change| Some((status(change, "from")?, status(change, "to")?))),
            success: response.get("success").and_then(Value::as_bool),
        })
    }
}

/// The id of a task that certainly exists: the event created or changed it.
pub fn shown_task(kind: EventKind, payload: &Payload) -> Option<String> {
    match (kind, payload.tool()) {
        (EventKind::TaskCreated, _) => payload.text("task_id").map(str::to_owned),
        (EventKind::PostToolUse, Some(Tool::TaskCreate)) => {
            payload.tool_response().pointer("/task/id").and_then(Value::as_str).map(str::to_owned)
        }
        (EventKind::PostToolUse, Some(Tool::TaskUpdate)) => {
            let update = TaskUpdate::of(payload.tool_input(), payload.tool_response())?;
            let exists = update.success == Some(true) && update.status != Some(TaskStatus::Deleted);
            exists.then_some(update.task)
        }
        _ => None,
    }
}

/// A spawned teammate: the only event that has name, agent id and team together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    pub name: String,
    /// Its agent id; in 2.1.47 and in split panes `name@team`.
    pub agent_id: Option<String>,
    pub team: Option<String>,
    /// Its pane: `%0`, or `in-process`.
    pub pane: Option<String>,
}

impl Spawn {
    /// Reads PostToolUse of `Agent` (`Task` before 2.1.63); `None` if no teammate was spawned.
    pub fn of(payload: &Payload) -> Option<Spawn> {
        let response = payload.tool_response();
        let text = |key: &str| {
            response.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if payload.tool() != Some(Tool::Agent) || text("status").as_deref() != Some("teammate_spawned") {
            return None;
        }
        Some(Spawn {
            name: text("name")?,
            agent_id: text("agent_id").or_else(|| text("agentId")),
            team: text("team_name")
                .or_else(|| text("teammate_id")?.split_once('@').map(|(_, team)| team.to_owned())),
            pane: text("tmux_pane_id"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_shapes_of_a_message_are_parsed_equally() {
        let old = json!({"type": "message", "recipient": "bob", "content": "hi", "summary": "s"});
        let new = json!({"to": "bob", "summary": "s", "message": "hi"});
        let both = json!({"to": "bob", "summary": "s", "message": "hi", "type": "message", "recipient": "bob", "content": "h…"});
        let read = |input| Message::of(input, &Value::Null).unwrap();
        assert_eq!(read(&old), read(&new));
        assert_eq!(read(&old), read(&both));
    }

    #[test]
    fn requests_and_responses_have_their_request_id_in_both_shapes() {
        let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
        let request = Message::of(&input, &json!({"request_id": "shutdown-1@bob"})).unwrap();
        assert_eq!(
            (request.kind.clone(), request.asked(), request.text.as_str()),
            (MessageKind::ShutdownRequest, Some("bob"), "done")
        );
        let flat = json!({"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": false, "content": "no"});
        let nested = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": "false", "reason": "no"}});
        let (flat, nested) =
            (Message::of(&flat, &Value::Null).unwrap(), Message::of(&nested, &Value::Null).unwrap());
        assert_eq!(flat.kind, MessageKind::ShutdownResponse { approve: false });
        assert_eq!((flat.kind, flat.text, flat.request), (nested.kind, nested.text, nested.request));
    }

    #[test]
    fn an_empty_field_does_not_take_precedence_over_another_spelling() {
        let message =
            json!({"to": "", "recipient": "bob", "type": "shutdown_request", "message": {"type": ""}});
        let message =
            Message::of(&message, &json!({"request_id": "", "requestId": "shutdown-1@bob"})).unwrap();
        assert_eq!((message.to.as_deref(), message.asked()), (Some("bob"), Some("bob")));
        assert_eq!(message.kind, MessageKind::ShutdownRequest);
        let update =
            TaskUpdate::of(&json!({"taskId": "", "task_id": "2", "owner": ""}), &Value::Null).unwrap();
        assert_eq!((update.task.as_str(), update.owner.as_deref()), ("2", Some("")));
    }

    #[test]
    fn the_recipient_is_the_one_in_the_response() {
        let to = |input, response| Message::of(&input, &response).unwrap().to;
        let bob = Some("bob".to_owned());
        let input = json!({"to": "BOB", "message": "hi"});
        assert_eq!(to(input, json!({"success": true, "routing": {"sender": "a", "target": "@bob"}})), bob);
        let stop = json!({"to": "BOB", "message": {"type": "shutdown_request"}});
        assert_eq!(to(stop, json!({"success": true, "target": "bob"})), bob);
        let all = json!({"type": "broadcast", "content": "hi"});
        assert_eq!(to(all, json!({"routing": {"target": "@team"}})).as_deref(), Some("*"));
    }

    #[test]
    fn input_without_a_known_field_is_not_a_message() {
        for input in [json!(null), json!([1]), json!("x"), json!({})] {
            assert_eq!(Message::of(&input, &Value::Null), None, "{input}");
        }
    }
}
