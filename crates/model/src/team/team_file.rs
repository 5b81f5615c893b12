//! The files of a team as the gates see them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Lists, Notice, Task, TeamConfig, TeamPath};
use crate::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamFile<'a> {
    Roster,
    Inbox(&'a str),
    /// A task: its list, if that must be shown, and its file name.
    Task(&'a str, &'a str),
}

/// The content of a file as far as the gates need it. The index of a team keeps it, so that a judged call need not read
/// unchanged files again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileFacts {
    /// The names in the roster.
    Roster(Vec<String>),
    Inbox(Mail),
    /// A task; `None` for one that is not work. Of its raw fields, an index has only `blockedBy` and `metadata`.
    Task(Option<Task>),
}

/// The facts of a larger file are not kept: the index is read at every call, and to find them at each change takes time.
const MAX_FILE_BYTES: usize = 32 << 10;

impl FileFacts {
    /// The facts about a file, by its path below Claude Code's directory. `None` if they are not worth keeping: the gates then
    /// read the file.
    pub fn of(path: &str, bytes: &[u8]) -> Option<FileFacts> {
        if bytes.len() > MAX_FILE_BYTES {
            return None;
        }
        let facts = match TeamFile::of(path, &Lists::of_team(None))?.parse(bytes)? {
            FileFacts::Task(Some(task)) => FileFacts::Task(Some(task.without_texts()?)),
            facts => facts,
        };
        Some(facts)
    }
}

/// The part of an inbox that the gates need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// Number of unread messages. Delivered messages are deleted, or marked as read (2.1.47).
    pub unread: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanNotice>,
}

/// A request to approve a plan, or the response to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNotice {
    pub is_request: bool,
    pub from: Option<String>,
    /// The id of the request.
    pub id: Option<String>,
}

impl Mail {
    /// `None` if the file is not a list.
    fn parse(bytes: &[u8]) -> Option<Mail> {
        let file = json::parse_lossy(bytes)?;
        let entries = file.as_array()?;
        let waits = |entry: &&Value| entry.get("read").and_then(Value::as_bool) != Some(true);
        Some(Mail {
            unread: entries.iter().filter(waits).count(),
            plans: entries.iter().filter_map(PlanNotice::read).collect(),
        })
    }
}

impl PlanNotice {
    fn read(entry: &Value) -> Option<PlanNotice> {
        // Most messages are not parsed.
        let text = entry.get("text")?.as_str()?;
        let notice = text.contains("plan_approval_re").then(|| Notice::read(text)).flatten()?;
        let is_request = match notice.kind.as_str() {
            "plan_approval_request" => true,
            "plan_approval_response" => false,
            _ => return None,
        };
        let from = entry.get("from").and_then(Value::as_str).map(str::to_owned);
        Some(PlanNotice { is_request, from: from.or(notice.from), id: notice.request })
    }
}

impl<'a> TeamFile<'a> {
    /// Parses a path below Claude Code's directory; `None` for any other file.
    pub fn of(path: &'a str, lists: &Lists<'_>) -> Option<TeamFile<'a>> {
        match TeamPath::of(path) {
            TeamPath::Config => Some(TeamFile::Roster),
            TeamPath::Inbox(name) => name.strip_suffix(".json").map(TeamFile::Inbox),
            TeamPath::Task(list, name) => Some(TeamFile::Task(lists.prefix(list)?, name)),
            _ => None,
        }
    }

    /// Whether the facts are of this kind of file.
    pub fn fits(self, facts: &FileFacts) -> bool {
        matches!(
            (self, facts),
            (TeamFile::Roster, FileFacts::Roster(_))
                | (TeamFile::Inbox(_), FileFacts::Inbox(_))
                | (TeamFile::Task(..), FileFacts::Task(_))
        )
    }

    /// Parses the content; `None` if it is not a file that Claude Code reads: see [`Flaw`](crate::team::Flaw).
    pub fn parse(self, bytes: &[u8]) -> Option<FileFacts> {
        Some(match self {
            TeamFile::Roster => {
                let members = TeamConfig::parse(bytes)?.members;
                FileFacts::Roster(members.into_iter().map(|member| member.name).collect())
            }
            TeamFile::Inbox(_) => FileFacts::Inbox(Mail::parse(bytes)?),
            TeamFile::Task(_, name) => {
                FileFacts::Task(Some(Task::parse(name, bytes)?).filter(|task| !task.is_tracker()))
            }
        })
    }
}

/// The id of a task: its number, prefixed with the list unless it is the session's list.
pub fn task_key(list: &str, id: &str) -> String {
    if list.is_empty() { id.to_owned() } else { format!("{list}/{id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_classified_by_path_and_tasks_of_other_lists_are_ignored() {
        let of = |path| TeamFile::of(path, &Lists::of_team(Some("t")));
        assert_eq!(of("teams/t/config.json"), Some(TeamFile::Roster));
        assert_eq!(of("teams/t/inboxes/bob.json"), Some(TeamFile::Inbox("bob")));
        assert_eq!(of("tasks/t/1.json"), Some(TeamFile::Task("", "1.json")));
        assert_eq!(TeamFile::of("tasks/u/1.json", &Lists::of_team(None)), Some(TeamFile::Task("", "1.json")));
        for other in ["tasks/u/1.json", "tasks/t", "teams/t/inboxes/bob.json.tmp", "teams/t/x/y/z", "x"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_message_that_was_cut_inside_an_emoji_counts_as_unread() {
        let mail = Mail::parse(br#"[{"text":"cut \ud83d"},{"text":"b","read":true},{"text":"c"}]"#);
        assert_eq!(mail.map(|mail| mail.unread), Some(2));
    }

    #[test]
    fn facts_say_what_the_file_says() {
        for (path, text) in [
            ("teams/t/config.json", r#"{"members":[{"name":"bob","prompt":"long"},{"name":"ann"}]}"#),
            ("teams/t/inboxes/bob.json", r#"[{"text":"a","read":true},{"text":"b"}]"#),
            ("tasks/t/1.json", r#"{"id":"1","subject":"S","status":"pending","owner":"bob"}"#),
            (
                "tasks/t/2.json",
                r#"{"id":"2","status":"other","blockedBy":["1",7],"metadata":{"_internal":true}}"#,
            ),
            (
                "tasks/t/3.json",
                r#"{"description":"d","owner":"bob","metadata":{"_internal":true,"waits":"x"}}"#,
            ),
        ] {
            let facts = FileFacts::of(path, text.as_bytes()).unwrap();
            let json = serde_json::to_string(&facts).unwrap();
            assert!(!json.contains("long") && !json.contains("description"), "{json}");
            assert_eq!(serde_json::from_str::<FileFacts>(&json).unwrap(), facts);
            let file = TeamFile::of(path, &Lists::of_team(Some("t"))).unwrap();
            assert!(file.fits(&facts), "{path}");
            let (kept, parsed) = (facts, file.parse(text.as_bytes()).unwrap());
            match (kept, parsed) {
                (FileFacts::Task(Some(kept)), FileFacts::Task(Some(parsed))) => {
                    let blocked_by = (kept.blocked_by(), parsed.blocked_by());
                    assert_eq!(blocked_by.0, blocked_by.1);
                    assert_eq!(kept.raw.get("metadata"), parsed.raw.get("metadata"));
                    assert_eq!(Task { raw: Value::Null, ..kept }, Task { raw: Value::Null, ..parsed });
                }
                (kept, parsed) => assert_eq!(format!("{kept:?}"), format!("{parsed:?}")),
            }
        }
    }

    #[test]
    fn facts_that_are_large_or_deep_are_not_kept() {
        let task = |metadata: &str| format!(r#"{{"id":"1","subject":"S","metadata":{metadata}}}"#);
        let is_kept = |text: &str| FileFacts::of("tasks/t/1.json", text.as_bytes()).is_some();
        assert!(is_kept(&task(r#"{"waits":"x"}"#)));
        assert!(!is_kept(&task(r#"{"waits":[1]}"#)));
        assert!(!is_kept(&format!(r#"{{"id":"1","description":"{}"}}"#, "x".repeat(MAX_FILE_BYTES))));
        assert!(!is_kept("{\"id\"") && FileFacts::of("tasks/t/.highwatermark", b"7").is_none());
    }
}
