//! Messages in words.

use serde_json::Value;

use super::format::{first_line, size, strip_tags, text_field};
use crate::policy::without_prefix;
use crate::team::Notice;
use crate::timeline::MessageEntry;

/// A sent message, as words that follow the sender's name.
pub fn sent(message: &MessageEntry, to: &str, text: &str) -> String {
    let to = if to == "*" { "everyone" } else { to };
    let doubt = if message.unconfirmed { " (not confirmed)" } else { "" };
    let long = if text.len() > 200 { format!(" ({})", size(text.len())) } else { String::new() };
    let colon = |text: String| if text.is_empty() { text } else { format!(": {text}") };
    let about_plan = match (message.word.as_str(), message.approve) {
        ("plan_approval_request", _) => Some(format!("asked {to} to approve a plan")),
        ("plan_approval_response", Some(true)) => Some(format!("approved the plan of {to}")),
        ("plan_approval_response", Some(false)) => Some(format!("rejected the plan of {to}")),
        _ => None,
    };
    if let Some(what) = about_plan {
        return format!("{what}{}{long}{doubt}", colon(first_line(text)));
    }
    let name = message.signed_as.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
    let (kind, summary) = match message.word.as_str() {
        "message" | "broadcast" => (String::new(), message.summary.clone()),
        kind => (format!(" ({kind})"), None),
    };
    let summary = colon(summary.unwrap_or_else(|| first_line(text)));
    format!("messaged {to}{name}{kind}{summary}{long}{doubt}")
}

/// A message that was not sent.
pub fn refused(message: &MessageEntry, to: &str, text: &str) -> String {
    let what = match message.word.as_str() {
        "shutdown_response" => "answer the shutdown request".to_owned(),
        "shutdown_request" => format!("ask {to} to shut down"),
        _ => format!("message {to}: {}", message.summary.clone().unwrap_or_else(|| first_line(text))),
    };
    if message.judged.is_some() {
        // The verdict follows, with its reason.
        return format!("tried to {what}");
    }
    match strip_tags(message.refusal.as_deref().unwrap_or_default()) {
        "" => format!("could not {what}"),
        why => format!("could not {what}: {}", first_line(without_prefix(why))),
    }
}

/// A message in an inbox, in a few words.
pub fn message_text(message: &Value, inbox: &str) -> String {
    let whole = text_field(message, "text").unwrap_or_default();
    let from = text_field(message, "from").unwrap_or("unknown");
    notice(whole, from, inbox).unwrap_or_else(|| first_line(text_field(message, "summary").unwrap_or(whole)))
}

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
