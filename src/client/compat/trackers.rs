//! Trackers of teammates among the tasks: 2.1.47 writes a task file for each teammate. Later versions write none, but an
//! agent can mark any task as internal (seen with 2.1.330).

use serde_json::Value;

/// Whether a task is a teammate's tracker: marked as internal and unassigned. It is named after the teammate.
pub fn is_tracker(task: &Value) -> bool {
    let owner = task.get("owner").and_then(Value::as_str).unwrap_or_default();
    task.pointer("/metadata/_internal") == Some(&Value::Bool(true)) && owner.is_empty()
}
