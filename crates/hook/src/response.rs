//! The format of a hook's response: the only place to change when Claude Code changes it.

use serde_json::{Value, json};

use teamkeep_model::event::Actor;
use teamkeep_model::payload::EventKind;
use teamkeep_model::words::count;
use teamkeep_policy::{Decision, Evaluation, Reason, Verdict};

pub const BLOCK_EXIT_CODE: u8 = 2;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The exit code: 0; 1 for a failure of teamkeep, after which Claude Code continues; 2 only for a block.
    pub exit: u8,
    /// Empty, or exactly one JSON object.
    pub stdout: String,
    /// Empty, or the reason of a block, or an error.
    pub stderr: String,
}

impl Response {
    pub fn allow() -> Response {
        Response::default()
    }

    pub fn failed(message: impl Into<String>) -> Response {
        Response { exit: 1, stderr: message.into(), ..Response::default() }
    }

    /// Blocks the action with a reason for the model. At an event that cannot be blocked, allows it.
    pub fn block(kind: EventKind, reason: impl Into<String>) -> Response {
        let exit = if kind.can_be_blocked() { BLOCK_EXIT_CODE } else { 0 };
        Response { exit, stderr: reason.into(), ..Response::default() }
    }

    /// Allows the action with a warning for the user; at PreToolUse also for the model, beside the tool's result.
    pub fn warn(kind: EventKind, reason: &str) -> Response {
        let output = match kind {
            EventKind::PreToolUse => json!({
                "systemMessage": reason,
                "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": reason},
            }),
            _ => json!({"systemMessage": reason}),
        };
        Response::json(&output)
    }

    fn json(output: &Value) -> Response {
        Response { stdout: format!("{output}\n"), ..Response::default() }
    }

    /// Adds the verdicts on the event to a response that no gate decided. A block replaces it.
    #[must_use]
    pub fn and_verdicts(self, kind: EventKind, actor: &Actor, evaluation: &Evaluation) -> Response {
        if let Some(block) = evaluation.decisive().filter(|verdict| verdict.decision == Decision::Block) {
            return Response::block(kind, block.text());
        }
        // An action allowed after blocks, and each warning, is reported once for each state of the tasks.
        let shown = evaluation.verdicts.iter().filter(|verdict| !verdict.repeated && !verdict.paused);
        let mut notices: Vec<String> = shown.filter_map(|verdict| notice(kind, actor, verdict)).collect();
        if notices.is_empty() {
            return self;
        }
        // An error of the recorder is reported as well.
        notices.extend(Some(self.stderr.clone()).filter(|failure| !failure.is_empty()));
        self.and_warn(kind, &notices.join("\n"))
    }

    pub(crate) fn and_warn(self, kind: EventKind, reason: &str) -> Response {
        self.with_message(reason).unwrap_or_else(|| Response::warn(kind, reason))
    }

    /// The response with one more line for the user; `None` if it has no JSON.
    pub(crate) fn with_message(&self, text: &str) -> Option<Response> {
        let mut output = serde_json::from_str::<Value>(&self.stdout).ok()?;
        let earlier = output.get("systemMessage").and_then(Value::as_str);
        let message = earlier.map_or(text.to_owned(), |earlier| format!("{earlier}\n{text}"));
        output["systemMessage"] = json!(message);
        Some(Response::json(&output))
    }

    /// Adds a text that the model reads with its next request, behind what it already reads.
    pub(crate) fn and_context(self, kind: EventKind, text: &str) -> Response {
        let mut output = serde_json::from_str::<Value>(&self.stdout).unwrap_or_else(|_| json!({}));
        let specific = &mut output["hookSpecificOutput"];
        let earlier = specific.get("additionalContext").and_then(Value::as_str);
        let context = earlier.map_or(text.to_owned(), |earlier| format!("{earlier}\n{text}"));
        specific["hookEventName"] = json!(kind.name());
        specific["additionalContext"] = json!(context);
        Response { stdout: format!("{output}\n"), ..self }
    }

    pub(crate) fn notify_user(what: &str) -> Response {
        Response::json(&json!({"systemMessage": what}))
    }

    /// The response at SessionStart: asks Claude Code to run the FileChanged hook for every file below these paths
    /// (since 2.1.83), and reports problems of the policy to the lead and the user, others only to the user.
    pub fn begin(watch: &[String], wrong: Option<&str>, user: Option<&str>) -> Response {
        let mut specific = json!({"hookEventName": "SessionStart"});
        let mut output = json!({});
        if !watch.is_empty() {
            specific["watchPaths"] = json!(watch);
        }
        if let Some(wrong) = wrong {
            specific["additionalContext"] = json!(wrong);
        }
        let messages: Vec<&str> = wrong.into_iter().chain(user).collect();
        if !messages.is_empty() {
            output["systemMessage"] = json!(messages.join("\n"));
        }
        output["hookSpecificOutput"] = specific;
        Response::json(&output)
    }
}

/// The message for a verdict that allows the action; `None` if it needs none.
fn notice(kind: EventKind, actor: &Actor, verdict: &Verdict) -> Option<String> {
    match verdict.decision {
        Decision::Warn => Some(verdict.text()),
        Decision::Allow if verdict.escalated => {
            // An idle event is reported to the user, and a tool call to the agent.
            let what = match kind {
                EventKind::TeammateIdle => Reason::default().name(actor.shown()).then(" to go idle").text(),
                _ => "this action".to_owned(),
            };
            let blocks = count(verdict.blocks.unwrap_or_default(), "block");
            let source = verdict.source();
            let reason = verdict.reason.trim_end_matches('.');
            Some(format!("teamkeep allowed {what} after {blocks} ({source}: {reason})"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_cannot_block_never_exits_with_2() {
        assert_eq!(Response::block(EventKind::PreToolUse, "no").exit, 2);
        let begun = Response::begin(&["/teams".to_owned()], None, Some("one"))
            .and_warn(EventKind::SessionStart, "two");
        let output: Value = serde_json::from_str(&begun.stdout).unwrap();
        assert_eq!(output["systemMessage"], "one\ntwo");
        assert_eq!(output["hookSpecificOutput"]["watchPaths"], json!(["/teams"]));
        let informed =
            begun.and_context(EventKind::SessionStart, "a").and_context(EventKind::SessionStart, "b");
        let output: Value = serde_json::from_str(&informed.stdout).unwrap();
        assert_eq!(output["systemMessage"], "one\ntwo");
        let specific =
            json!({"hookEventName": "SessionStart", "watchPaths": ["/teams"], "additionalContext": "a\nb"});
        assert_eq!(output["hookSpecificOutput"], specific);
        let only = Response::allow().and_context(EventKind::SessionStart, "a");
        let output: Value = serde_json::from_str(&only.stdout).unwrap();
        let specific = json!({"hookEventName": "SessionStart", "additionalContext": "a"});
        assert_eq!(output, json!({"hookSpecificOutput": specific}));
        for kind in [
            EventKind::SubagentStart,
            EventKind::SessionStart,
            EventKind::SessionEnd,
            EventKind::PostToolUse,
            EventKind::Unknown,
        ] {
            assert_eq!(Response::block(kind, "no").exit, 0, "{kind:?}");
        }
    }
}
