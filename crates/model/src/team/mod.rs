//! Parsers for Claude Code's team files, and for the usage in its transcripts. They tolerate missing and unknown fields, and never write.

mod config;
mod inbox;
mod lists;
mod names;
mod team_file;
mod token_usage;

use serde_json::Value;

pub use crate::compat::is_of_team as is_of;
pub use config::{Member, Task, TeamConfig};
pub use inbox::{IdleReason, InboxEntry, Notice, entries, fresh_entries};
pub use lists::{HIGHEST_NUMBER, Lists, NamedLists};
pub use names::{directory, erasing, is_uuid, mailbox, reached, spelled, without_reference, without_team};
pub use team_file::{Facts, Mail, PlanNotice, TeamFile, task_key};
pub use token_usage::{MessageUsage, Terms, Tokens};

/// The first of these keys that has a text.
pub fn text(value: &Value, keys: &[&str]) -> Option<String> {
    let mut texts = keys.iter().filter_map(|key| value.get(key)?.as_str());
    texts.find(|text| !text.is_empty()).map(str::to_owned)
}

/// The first of these keys that has a number, without its decimals.
pub(crate) fn whole(value: &Value, keys: &[&str]) -> Option<i64> {
    keys.iter().find_map(|key| {
        let number = value.get(key)?;
        number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamPath<'a> {
    Team,
    Config,
    Inboxes,
    Inbox(&'a str),
    TaskList(&'a str),
    Task(&'a str, &'a str),
    Other,
}

impl TeamPath<'_> {
    pub fn of(path: &str) -> TeamPath<'_> {
        let mut parts = path.split('/');
        let mut next = || parts.next();
        match [next(), next(), next(), next(), next()] {
            [Some("teams"), Some(_), None, ..] => TeamPath::Team,
            [Some("teams"), Some(_), Some("config.json"), None, _] => TeamPath::Config,
            [Some("teams"), Some(_), Some("inboxes"), None, _] => TeamPath::Inboxes,
            [Some("teams"), Some(_), Some("inboxes"), Some(name), None] => TeamPath::Inbox(name),
            [Some("tasks"), Some(list), None, ..] => TeamPath::TaskList(list),
            [Some("tasks"), Some(list), Some(name), None, _] => TeamPath::Task(list, name),
            _ => TeamPath::Other,
        }
    }
}

/// The owner of an inbox, from its file name. A temporary file has more after `.json`.
pub fn inbox_owner(file: &str) -> &str {
    file.split(".json").next().unwrap_or(file)
}

/// Why Claude Code cannot read a team file with this content. It ignores such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    Empty,
    /// It begins with a byte order mark.
    ByteOrderMark,
    NotJson,
    NotAnObject,
    NotAnArray,
}

impl Flaw {
    /// The flaw of a file below Claude Code's directory with this content; `None` if it has none.
    pub fn of(path: &str, bytes: &[u8]) -> Option<Flaw> {
        let (first, other) = match TeamPath::of(path) {
            TeamPath::Config | TeamPath::Task(..) => (b'{', Flaw::NotAnObject),
            TeamPath::Inbox(_) => (b'[', Flaw::NotAnArray),
            _ => return None,
        };
        if !path.ends_with(".json") {
            return None;
        }
        match bytes.trim_ascii_start().first() {
            None => Some(Flaw::Empty),
            Some(_) if bytes.starts_with("\u{feff}".as_bytes()) => Some(Flaw::ByteOrderMark),
            Some(_) if !is_json(bytes) => Some(Flaw::NotJson),
            Some(start) => (*start != first).then_some(other),
        }
    }

    /// Whether its writer may not have finished.
    pub fn is_incomplete(self) -> bool {
        matches!(self, Flaw::Empty | Flaw::ByteOrderMark | Flaw::NotJson)
    }

    pub fn text(self) -> &'static str {
        match self {
            Flaw::Empty => "empty",
            Flaw::ByteOrderMark => "not valid JSON: it starts with a byte order mark",
            Flaw::NotJson => "not valid JSON",
            Flaw::NotAnObject => "not a JSON object",
            Flaw::NotAnArray => "not a JSON array",
        }
    }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_kind_of_value_or_no_json_has_a_flaw() {
        let flaw = |path: &str, text: &[u8]| Flaw::of(path, text);
        let (task, inbox) = ("tasks/t/1.json", "teams/t/inboxes/bob.json");
        assert_eq!(flaw(task, b"\xef\xbb\xbf{}"), Some(Flaw::ByteOrderMark));
        for text in [&b"{\"a\":1,}"[..], b"\0\0", b"{\"a\":\"C:\\Users\"}", b"{"] {
            assert_eq!((flaw(task, text), flaw(inbox, text)), (Some(Flaw::NotJson), Some(Flaw::NotJson)));
        }
        assert_eq!((flaw(task, b""), flaw(inbox, b" \n")), (Some(Flaw::Empty), Some(Flaw::Empty)));
        for text in [&b"[]"[..], b"\"x\"", b"7", b"null"] {
            assert_eq!(flaw("teams/t/config.json", text), Some(Flaw::NotAnObject));
        }
        assert_eq!(
            (flaw(inbox, b"{}"), flaw(inbox, b" [] "), flaw(task, b"\n{}")),
            (Some(Flaw::NotAnArray), None, None)
        );
        // A byte that is not UTF-8 becomes U+FFFD in a string.
        let latin = b"{\"id\":\"1\",\"subject\":\"Dr\xe4ft\"}";
        let subject = Task::parse("1.json", latin).and_then(|task| task.subject);
        assert_eq!((flaw(task, latin), subject.as_deref()), (None, Some("Dr\u{fffd}ft")));
        assert_eq!((flaw("tasks/t/.highwatermark", b"7"), flaw("tasks/t/1.json.tmp.7", b"{")), (None, None));
    }
}
