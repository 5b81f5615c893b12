//! Claude Code's automatic messages in words. Their text is JSON.

use super::format::first_line;
use crate::team::Notice;

/// The description of an automatic message; `to` is its recipient.
pub fn notice(text: &str, from: &str, to: &str) -> Option<String> {
    let notice = Notice::read(text)?;
    let who = notice.from.as_deref().unwrap_or(from);
    let task = format!("task {}", notice.task.as_deref().unwrap_or("?"));
    let why = notice.text.as_deref().map(first_line).filter(|why| !why.is_empty());
    let with = |words: String| match &why {
        Some(why) => format!("{words}: {why}"),
        None => words,
    };
    let words = match notice.kind.as_str() {
        // The end of the turn already shows its last message.
        "idle_notification" => format!("{who} is idle"),
        "task_assignment" => with(format!("{task} assigned to {to}")),
        "task_completed" => with(format!("{task} was completed by {who}")),
        "shutdown_request" => with(format!("{who} asks {to} to shut down")),
        "shutdown_approved" => format!("{who} approved its shutdown"),
        "shutdown_rejected" => with(format!("{who} rejected its shutdown")),
        "teammate_terminated" => why.unwrap_or_else(|| "a teammate has shut down".to_owned()),
        "plan_approval_request" => with(format!("{who} asks to have a plan approved")),
        "plan_approval_response" => with(format!("{who} answered about the plan")),
        "permission_request" => with(format!("{who} asks for a permission")),
        "permission_response" => with(format!("{who} answered about a permission")),
        other => with(other.replace('_', " ")),
    };
    Some(format!("automatic: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_told_in_words() {
        let told = [
            r#"{"type":"idle_notification","from":"alice","idleReason":"available","result":"Done."}"#,
            r#"{"type":"task_assignment","taskId":"1","subject":"Draft","assignedBy":"team-lead"}"#,
            r#"{"type":"shutdown_request","from":"team-lead","reason":"All is done"}"#,
            r#"{"type":"shutdown_rejected","from":"alice","reason":"Two more minutes"}"#,
            r#"{"type":"teammate_terminated","message":"bob has shut down. 1 task(s) were unassigned."}"#,
            r#"{"type":"moon_phase","text":"full"}"#,
            "{plain}",
        ];
        let told = told.map(|text| notice(text, "system", "alice").unwrap_or_default());
        insta::assert_snapshot!(told.join("\n"), @"
        automatic: alice is idle
        automatic: task 1 assigned to alice: Draft
        automatic: team-lead asks alice to shut down: All is done
        automatic: alice rejected its shutdown: Two more minutes
        automatic: bob has shut down. 1 task(s) were unassigned.
        automatic: moon phase
        ");
    }
}
