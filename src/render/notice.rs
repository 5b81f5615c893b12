//! The client's own notices, in words: it writes them as JSON into a message's text.

use super::words::first_line;
use crate::team::Notice;

/// What a message's text says when it is a notice; `to` is who got it.
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
        // That it is available, and what it said last, is told where it ended its turn.
        "idle_notification" => format!("{who} is idle"),
        "task_assignment" => with(format!("{task} was given to {to}")),
        "task_completed" => with(format!("{task} was completed by {who}")),
        "shutdown_request" => with(format!("{who} asks {to} to stop")),
        "shutdown_approved" => format!("{who} agreed to stop"),
        "shutdown_rejected" => with(format!("{who} refused to stop")),
        "teammate_terminated" => why.unwrap_or_else(|| "a teammate has shut down".to_owned()),
        "plan_approval_request" => with(format!("{who} asks to have a plan approved")),
        "plan_approval_response" => with(format!("{who} answered about the plan")),
        "permission_request" => with(format!("{who} asks for a permission")),
        "permission_response" => with(format!("{who} answered about a permission")),
        other => with(other.replace('_', " ")),
    };
    Some(format!("notice: {words}"))
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
        notice: alice is idle
        notice: task 1 was given to alice: Draft
        notice: team-lead asks alice to stop: All is done
        notice: alice refused to stop: Two more minutes
        notice: bob has shut down. 1 task(s) were unassigned.
        notice: moon phase
        ");
    }
}
