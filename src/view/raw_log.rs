//! Text output of `log --raw`: one line per event, and a line for each new day and each change of the clocks.

use std::io::{self, Write};

use anstyle::Style;
use chrono::{FixedOffset, NaiveDate};
use serde_json::Value;

use super::line::{CYAN, DIM, Line, bold, dim, plain, styled};
use super::values::{decision, text_field};
use teamkeep_model::event::{ActorKind, OVERRIDE, Recorded};
use teamkeep_model::payload::{EventKind, Message, MessageKind, Payload, TaskUpdate};
use teamkeep_model::words::{QUOTE_CHARS, cut};
use teamkeep_model::{Tool, time};
use teamkeep_policy::RecordedVerdict;

/// Below this width, an event has a second line for its content.
const NARROW: usize = 60;

#[derive(Debug, Default)]
pub struct RawLogView {
    /// The width of the terminal; `None` for unlimited.
    pub columns: Option<usize>,
    /// The day and the zone of the last heading.
    day: Option<(NaiveDate, FixedOffset)>,
}

impl RawLogView {
    /// Writes one event: time, event, actor, content and team.
    pub fn write(&mut self, out: &mut impl Write, recorded: &Recorded) -> io::Result<()> {
        let local = time::local(recorded.at);
        let day = (local.date_naive(), *local.offset());
        if self.day.replace(day) != Some(day) {
            Line::from([bold(format!("{} {}", day.0, time::offset(recorded.at)))])
                .write(out, self.columns)?;
        }
        let narrow = self.columns.is_some_and(|columns| columns < NARROW);
        let (format, width) = if narrow { ("%H:%M:%S", 8) } else { ("%H:%M:%S%.3f", 12) };
        let mut line = Line::from([
            dim(local.format(format).to_string()).width(width),
            styled(CYAN, &recorded.event).width(16),
            styled(actor_style(recorded.actor.kind), recorded.actor.shown()).width(10),
        ]);
        let detail = detail(recorded);
        if narrow {
            line.write(out, self.columns)?;
            if detail.is_empty() {
                return Ok(());
            }
            line = Line::from([plain("").width(1)]);
        }
        line.push(styled(detail_style(recorded), detail));
        // If there is not enough room, the team is cut before the content.
        line.push(dim(recorded.team.as_deref().unwrap_or_default()));
        line.write(out, self.columns)
    }
}

/// A verdict has the color of its decision.
fn detail_style(recorded: &Recorded) -> Style {
    let verdict = recorded.verdict.as_deref().and_then(RecordedVerdict::read);
    verdict.map_or_else(Style::new, |verdict| decision(verdict.verdict.decision))
}

fn actor_style(kind: ActorKind) -> Style {
    match kind {
        ActorKind::Lead | ActorKind::Teammate => Style::new().bold(),
        ActorKind::Subagent | ActorKind::Helper => Style::new(),
        ActorKind::Unknown => DIM,
    }
}

/// Fields of a tool's input that describe the call, best first.
const SHOWN_KEYS: &[&str] =
    &["file_path", "notebook_path", "command", "pattern", "url", "query", "skill", "team_name"];

/// Describes what the event has beside its name and actor. Not escaped for a terminal.
pub fn detail(recorded: &Recorded) -> String {
    if let Some(problem) = &recorded.malformed {
        return format!("malformed payload: {problem}");
    }
    if let Some(recorded_verdict) = recorded.verdict.as_deref().and_then(RecordedVerdict::read) {
        let verdict = &recorded_verdict.verdict;
        return format!("{} {}: {}", verdict.word(), verdict.source(), short(&verdict.reason));
    }
    let payload = Payload::from_raw(&recorded.payload);
    let text = match EventKind::named(&recorded.event) {
        kind if kind.has_tool() => tool(&payload),
        EventKind::TaskCreated | EventKind::TaskCompleted => task(&payload),
        EventKind::UserPromptSubmit => quoted(payload.text("prompt")),
        EventKind::Notification => quoted(payload.text("message")),
        EventKind::Stop | EventKind::SubagentStop => quoted(payload.text("last_assistant_message")),
        EventKind::SessionStart => payload.text("source").unwrap_or_default().to_owned(),
        EventKind::SessionEnd => payload.text("reason").unwrap_or_default().to_owned(),
        EventKind::PreCompact => payload.text("trigger").unwrap_or_default().to_owned(),
        EventKind::FileChanged => joined([payload.text("event"), payload.text("file_path")]),
        _ if recorded.event == OVERRIDE => overridden(&payload),
        _ => String::new(),
    };
    match &recorded.warning {
        Some(warning) if text.is_empty() => format!("({warning})"),
        Some(warning) => format!("{text} ({warning})"),
        None => text,
    }
}

fn tool(payload: &Payload) -> String {
    let (input, response) = (payload.tool_input(), payload.tool_response());
    let name = payload.tool_name().unwrap_or("?");
    let text = match Tool::named(name) {
        Tool::SendMessage => Message::of(input, response).map(|message| sent(&message)),
        Tool::TaskUpdate => TaskUpdate::of(input, response).map(|update| updated(&update)),
        Tool::TaskCreate => {
            let id = response.get("task").and_then(|task| text_field(task, "id")).map(|id| format!("#{id}"));
            Some(joined([id.as_deref(), Some(&quoted(text_field(input, "subject")))]))
        }
        Tool::Agent => {
            let name = text_field(input, "name").or_else(|| text_field(input, "subagent_type"));
            Some(joined([name, Some(&quoted(text_field(input, "description")))]))
        }
        _ => SHOWN_KEYS.iter().find_map(|key| text_field(input, key)).map(short),
    };
    joined([Some(name), text.as_deref()])
}

fn sent(message: &Message) -> String {
    let to = message.to.as_ref().map(|to| format!("→ {to}"));
    let kind = match &message.kind {
        MessageKind::Plain => "",
        MessageKind::ShutdownRequest => "shutdown request",
        MessageKind::ShutdownResponse { approve: true } => "shutdown approved",
        MessageKind::ShutdownResponse { approve: false } => "shutdown refused",
        MessageKind::Other(kind) => kind,
    };
    let text = message.summary.as_deref().unwrap_or(&message.text);
    joined([to.as_deref(), Some(kind), Some(&quoted(Some(text)))])
}

fn updated(update: &TaskUpdate) -> String {
    let task = format!("#{}", update.task);
    let status = update.status.as_ref().map(|status| format!("→ {status}"));
    let owner = update.owner.as_ref().map(|owner| match owner.as_str() {
        "" => "without owner".to_owned(),
        owner => format!("owner {owner}"),
    });
    let failed = (update.success == Some(false)).then_some("(refused)");
    joined([Some(task.as_str()), status.as_deref(), owner.as_deref(), failed])
}

fn task(payload: &Payload) -> String {
    let id = payload.text("task_id").map(|id| format!("#{id}"));
    joined([id.as_deref(), Some(&quoted(payload.text("task_subject")))])
}

fn overridden(payload: &Payload) -> String {
    let gate = payload.text("gate").unwrap_or("every gate and rule");
    let until = payload.text("until").and_then(time::parse);
    let until = until.map(|until| format!("until {}", time::moment(until)));
    // Without a terminal, it may not have been a person.
    let typed = payload.field("terminal").and_then(Value::as_bool);
    let untyped = (typed == Some(false)).then_some("(no terminal)");
    let found =
        (payload.field("found").and_then(Value::as_bool) == Some(true)).then_some("(found in the file)");
    let rejected = (payload.field("rejected").and_then(Value::as_bool) == Some(true))
        .then_some("rejected: the organization has fixed the gate");
    joined([
        payload.text("override"),
        Some(gate),
        payload.text("name"),
        until.as_deref(),
        rejected,
        untyped,
        found,
    ])
}

/// The text in quotes; empty for none.
fn quoted(text: Option<&str>) -> String {
    text.map(short).filter(|text| !text.is_empty()).map(|text| format!("\"{text}\"")).unwrap_or_default()
}

/// The start of the first line that is not blank.
fn short(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(line, QUOTE_CHARS)
}

fn joined<'a>(words: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let words: Vec<&str> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, event: &str, actor: &str, payload: &str) -> Recorded {
        let actor = format!(r#"{{"name":{actor},"id":null,"kind":"teammate"}}"#);
        let line = format!(
            r#"{{"v":1,"at":"{at}","event":"{event}","team":"t1","actor":{actor},"payload":{payload}}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn the_log_names_helpers() {
        let helper =
            r#"{"at":"noon","event":"SubagentStop","actor":{"name":null,"id":"a1","kind":"helper"}}"#;
        let mut out = Vec::new();
        RawLogView::default().write(&mut out, &serde_json::from_str(helper).unwrap()).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("helper"));
    }

    #[test]
    fn each_day_has_a_heading_and_control_characters_are_escaped() {
        let mut view = RawLogView::default();
        let mut out = Vec::new();
        for recorded in [
            line("2026-02-03T23:59:59.999Z", "TeammateIdle", r#""bob""#, "{}"),
            line("2026-02-04T00:00:00.000Z", "UserPromptSubmit", "null", r#"{"prompt":"\u001b[31mgo"}"#),
            line("2026-02-04T00:00:01.000Z", "New\u{202e}", r#""a""#, "{}"),
        ] {
            view.write(&mut out, &recorded).unwrap();
        }
        let plain = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        insta::assert_snapshot!(plain, @r#"
        2026-02-03 UTC
        23:59:59.999 TeammateIdle     bob        t1
        2026-02-04 UTC
        00:00:00.000 UserPromptSubmit unknown    "\u{1b}[31mgo" t1
        00:00:01.000 New\u{202e}      a          t1
        "#);
    }

    fn said(event: &str, payload: Value) -> String {
        let line = serde_json::json!({"v": 1, "event": event, "payload": payload});
        detail(&serde_json::from_str(&line.to_string()).unwrap())
    }

    fn call(tool: &str, input: Value, response: Value) -> String {
        let payload = serde_json::json!({"tool_name": tool, "tool_input": input, "tool_response": response});
        said("PostToolUse", payload)
    }

    #[test]
    fn each_event_is_described_in_a_few_words() {
        use serde_json::json;
        let nothing = || json!(null);
        let told = [
            call(
                "SendMessage",
                json!({"to": "bob", "summary": "ready for review", "message": "long"}),
                nothing(),
            ),
            call("SendMessage", json!({"to": "bob", "message": "# Parser\nis done"}), nothing()),
            call(
                "SendMessage",
                json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}}),
                nothing(),
            ),
            call("SendMessage", json!({"type": "shutdown_response", "approve": true}), nothing()),
            call("TaskUpdate", json!({"taskId": "1", "status": "completed"}), nothing()),
            call("TaskUpdate", json!({"taskId": 2, "owner": "bob"}), json!({"success": false})),
            call("TaskCreate", json!({"subject": "Draft"}), json!({"task": {"id": "3"}})),
            call("Agent", json!({"name": "alice", "description": "Draft the parser"}), nothing()),
            call("Bash", json!({"description": "list", "command": "\n ls -l\nrm x"}), nothing()),
            call("Mystery", json!([1]), nothing()),
            said("PermissionRequest", json!({"tool_name": "Bash", "tool_input": {"command": "git push"}})),
            said("PermissionDenied", json!({"tool_name": "Edit", "tool_input": {"file_path": "/a/b"}})),
            said("PostToolUseFailure", json!({"tool_name": "TaskUpdate", "tool_input": {"taskId": "1"}})),
            said("TaskCompleted", json!({"task_id": "1", "task_subject": "Draft"})),
            said("FileChanged", json!({"event": "unlink", "file_path": "/a/b"})),
            said("SessionEnd", json!({"reason": "clear"})),
            said("TeammateIdle", json!({"teammate_name": "bob"})),
            said(
                "PolicyOverride",
                json!({"override": "pause", "gate": null, "until": "2026-02-03T04:05:06Z"}),
            ),
            said("Brandnew", json!(7)),
        ];
        insta::assert_snapshot!(told.join("\n"), @r##"
        SendMessage → bob "ready for review"
        SendMessage → bob "# Parser"
        SendMessage → bob shutdown request "done"
        SendMessage shutdown approved
        TaskUpdate #1 → completed
        TaskUpdate #2 owner bob (refused)
        TaskCreate #3 "Draft"
        Agent alice "Draft the parser"
        Bash ls -l
        Mystery
        Bash git push
        Edit /a/b
        TaskUpdate #1
        #1 "Draft"
        unlink /a/b
        clear

        pause every gate and rule until 2026-02-03 04:05:06 UTC
        "##);
    }

    #[test]
    fn a_verdict_is_described_by_decision_gate_and_reason() {
        let verdict =
            r#"{"decision":"block","gate":"rule","code":"c","reason":"no\nmore","rule":"no-push","of":"e"}"#;
        let line = format!(r#"{{"v":1,"event":"Verdict","verdict":{verdict},"payload":null}}"#);
        assert_eq!(detail(&serde_json::from_str(&line).unwrap()), "block rule no-push: no");
        let line = line.replace("block", "explode");
        assert_eq!(detail(&serde_json::from_str(&line).unwrap()), "", "one that this version cannot read");
    }

    #[test]
    fn warnings_and_malformed_payloads_are_described() {
        let line = r#"{"v":1,"event":"Stop","warning":"named otherwise","payload":{}}"#;
        assert_eq!(detail(&serde_json::from_str(line).unwrap()), "(named otherwise)");
        let line = r#"{"v":1,"event":"Stop","malformed":"stdin was empty","payload":{"text":""}}"#;
        assert_eq!(detail(&serde_json::from_str(line).unwrap()), "malformed payload: stdin was empty");
    }
}
