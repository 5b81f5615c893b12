//! A verdict as a line of the event log.

use serde_json::value::RawValue;

use crate::event::{Event, Id};
use crate::policy::{RecordedVerdict, Verdict};

/// The event name of such a line.
pub const VERDICT: &str = "Verdict";

/// Formats a verdict as a line that follows the event's, with the same time and actor. `id` is the line's own.
///
/// # Errors
/// None in practice: every field is plain data.
pub fn line(verdict: &Verdict, id: &Id, event: &Event<'_>) -> serde_json::Result<Vec<u8>> {
    let raw = RecordedVerdict { verdict: verdict.clone(), of: event.id.to_owned() }.raw()?;
    let line = Event {
        id: id.as_str(),
        event: VERDICT,
        warning: None,
        malformed: None,
        verdict: Some(&raw),
        payload: RawValue::NULL,
        ..*event
    };
    line.line()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::event::{Actor, Recorded};
    use crate::policy::Decision;

    #[test]
    fn a_verdict_s_line_is_the_event_s_but_for_what_it_says() {
        let actor = Actor::teammate("bob", Some("abob-1"));
        let payload = RawValue::from_string("{\"secret\":1}".to_owned()).unwrap();
        let event = Event {
            v: 1,
            at: "2026-02-03T04:05:06.789Z",
            id: "e1",
            event: "TeammateIdle",
            session: Some("s1"),
            team: Some("t1"),
            actor: &actor,
            run: Some("r1"),
            task_list: None,
            warning: Some("odd"),
            malformed: None,
            verdict: None,
            payload: &payload,
        };
        let verdict = Verdict {
            decision: Decision::Block,
            gate: "idle-with-work".to_owned(),
            code: "owns-work".to_owned(),
            reason: "task 2 is yours".to_owned(),
            rule: None,
            file_line: None,
            escalated: false,
            blocks: None,
            paused: false,
            repeated: false,
        };
        let id = Id::new(clock::parse(event.at).unwrap());
        let written = String::from_utf8(line(&verdict, &id, &event).unwrap()).unwrap();
        let expected = r#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"ID","event":"Verdict","session":"s1","team":"t1","actor":{"name":"bob","id":"abob-1","kind":"teammate"},"run":"r1","verdict":{"decision":"block","gate":"idle-with-work","code":"owns-work","reason":"task 2 is yours","rule":null,"file_line":null,"escalated":false,"paused":false,"of":"e1"},"payload":null}"#;
        assert_eq!(written, expected.replace("ID", id.as_str()) + "\n");
        let read: Recorded = serde_json::from_str(&written).unwrap();
        assert_eq!(
            RecordedVerdict::read(&read.verdict.unwrap()).unwrap(),
            RecordedVerdict { verdict, of: "e1".to_owned() }
        );
    }
}
