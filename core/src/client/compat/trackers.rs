//! Trackers among the tasks: 2.1.47 keeps a task file for each teammate, which is not work and has no owner (seen). In
//! 2.1.330 a TaskUpdate can mark any task in the same way.

use serde_json::Value;

/// Whether a task is a teammate's tracker: marked as internal and unassigned. It is named after the teammate.
pub fn is_tracker(task: &Value) -> bool {
    let owner = task.get("owner").and_then(Value::as_str).unwrap_or_default();
    task.pointer("/metadata/_internal") == Some(&Value::Bool(true)) && owner.is_empty()
}
