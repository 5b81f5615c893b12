//! Parsers for Claude Code's team files, and for the usage in its transcripts; the names of teams and agents in paths and messages. They
//! tolerate missing and unknown fields, and never write.

mod config;
mod inbox;
mod lists;
mod team_file;
mod token_usage;

use serde_json::Value;

use crate::compat;
use crate::unicode::{fold, is_invisible};

pub use crate::compat::is_of_team as is_of;
pub use config::{Member, Task, TeamConfig};
pub use inbox::{IdleReason, InboxEntry, Notice, entries, fresh_entries};
pub use lists::{HIGHEST_NUMBER, Lists, NamedLists};
pub use team_file::{FileFacts, Mail, PlanNotice, TeamFile, task_key};
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

/// The directory of a team below `teams`.
pub fn directory(team: &str) -> String {
    compat::config_directory(&mailbox(team))
}

/// The name of an agent's inbox (without `.json`), of a task list, and of the directory with a team's inboxes: a dash
/// replaces each UTF-16 code unit except letters, digits, `-` and `_`.
pub fn mailbox(name: &str) -> String {
    let is_kept = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let spelled = |unit: u16| u8::try_from(unit).ok().map(char::from).filter(is_kept).unwrap_or('-');
    name.encode_utf16().map(spelled).collect()
}

/// Finds a name among the known ones: the same name, or else the first one that folds to the same.
pub fn spelled<'a, I: Iterator<Item = &'a str>>(word: &str, known: impl Fn() -> I) -> Option<&'a str> {
    known().find(|name| *name == word).or_else(|| {
        let word = fold(word);
        known().find(|name| fold(name) == word)
    })
}

/// Finds the recipient of a message to this name: as [`spelled`] does, or else the agent whose inbox has this file
/// name. Claude Code before 2.1.178 does not resolve names but writes to that inbox.
pub fn reached<'a, I: Iterator<Item = &'a str>>(word: &str, known: impl Fn() -> I) -> Option<&'a str> {
    spelled(word, &known).or_else(|| {
        let inbox = mailbox(word);
        known().find(|name| mailbox(name) == inbox)
    })
}

/// The name in an address such as `@bob` or `bob@team`.
pub fn without_team(address: &str) -> &str {
    let is_at = |c: char| matches!(c, '@' | '＠' | '﹫');
    let is_blank = |c: char| c.is_whitespace() || is_invisible(c);
    let address = address.trim_matches(is_blank).trim_start_matches(is_at);
    address.split_once(is_at).map_or(address, |(name, _)| name)
}

/// A recipient without the reference that Claude Code (2.1.330) shows after names: `bob [d19019]`.
pub fn without_reference(word: &str) -> &str {
    let hex = |reference: &str| {
        (6..=12).contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts = word.trim().strip_suffix(']').and_then(|word| word.rsplit_once('['));
    parts.filter(|(_, reference)| hex(reference)).map_or(word, |(name, _)| name.trim())
}

pub fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The team's directory name, if Claude Code (2.1.328) has renamed it to `NAME.deleted-UUID` before deleting it.
pub fn erasing(directory: &str) -> Option<&str> {
    let (name, uuid) = directory.rsplit_once(".deleted-")?;
    (!name.is_empty() && is_uuid(uuid)).then_some(name)
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

    #[test]
    fn the_same_spelling_comes_before_one_that_folds_to_it() {
        let known = || ["bob", "Bob", "my-agent"].into_iter();
        assert_eq!(spelled("Bob", known), Some("Bob"));
        assert_eq!(spelled("BOB\u{200b}", known), Some("bob"), "the first of them");
        assert_eq!((spelled("my agent", known), spelled("my.agent", known)), (Some("my-agent"), None));
        assert_eq!((reached("my.agent", known), reached("bob.", known)), (Some("my-agent"), None));
    }

    #[test]
    fn a_reference_is_six_hexadecimal_digits_or_more() {
        for (word, name) in [
            ("bob [d19019]", "bob"),
            (" bob[0123456789ab] ", "bob"),
            ("bob [d1901]", "bob [d1901]"),
            ("bob [d1901x]", "bob [d1901x]"),
            ("bob", "bob"),
        ] {
            assert_eq!(without_reference(word), name);
        }
    }

    #[test]
    fn names_are_spelled_as_the_client_does() {
        for (name, team, inbox) in [
            ("parser-team", "parser-team", "parser-team"),
            ("UPPER_Case.Team", "upper-case-team", "UPPER_Case-Team"),
            ("Équipe Rouge v1.2 (Test)", "-quipe-rouge-v1-2--test-", "-quipe-Rouge-v1-2--Test-"),
            ("日本 チーム", "------", "------"),
            ("a💥", "a--", "a--"),
        ] {
            assert_eq!((directory(name).as_str(), mailbox(name).as_str()), (team, inbox));
            assert!(is_of(inbox, team) && is_of(team, team));
        }
        assert!(
            !is_of("parser-team", "Parser-Team"),
            "a team is named for the directory of its configuration"
        );
        assert!(!is_of("aaaaaaaa-0000-4000-8000-000000000001", "session-aaaaaaaa"));
    }

    #[test]
    fn only_a_name_with_the_clients_own_ending_is_a_directory_that_is_being_erased() {
        let erased = erasing("session-caa6ae01.deleted-473501be-525d-43fb-9bf6-86c251f4f63d");
        assert_eq!(erased, Some("session-caa6ae01"));
        for other in [
            "session-caa6ae01",
            "notes.deleted-yesterday",
            "a.deleted-473501be-525d-43fb-9bf6-86c251f4f63",
            "a.deleted-473501bx-525d-43fb-9bf6-86c251f4f63d",
            ".deleted-473501be-525d-43fb-9bf6-86c251f4f63d",
            "a.deleted-473501be-525d-43fb-9bf6-86c251f4f63d.old",
        ] {
            assert_eq!(erasing(other), None, "{other}");
        }
    }
}
