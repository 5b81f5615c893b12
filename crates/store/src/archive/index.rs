//! The index: the last captured state of a team. As a cache of the journal, it reduces an unchanged file to a `stat`
//! call.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::run::ConfigDir;
use crate::chain::ChainPoint;
use teamkeep_model::ProcessId;
use teamkeep_model::event::SafeName;
use teamkeep_model::team::{FileFacts, Lists, NamedLists, TeamConfig, is_of, mailbox, spelled};
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::{JsonDocument, Stamp};
use teamkeep_system::process;

/// The last captured state of a team, or of a session without a team.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Index {
    pub v: u8,
    /// The subject, if the file's name has only its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub run: String,
    /// When the last snapshot was taken.
    pub at: Timestamp,
    /// Length of the run's journal in bytes when this was written; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<u64>,
    /// The journal's state after the last line that a call added with this index: its size and the hash of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal_point: Option<ChainPoint>,
    /// The team's `createdAt`, milliseconds since 1970.
    pub created_at: Option<i64>,
    pub lead_session: Option<String>,
    pub lead_pid: Option<u32>,
    pub lead_space: Option<String>,
    /// When the lead's process began, in ticks since boot.
    pub lead_start: Option<String>,
    pub members: Vec<RosterEntry>,
    /// More task directories of this run: `/clear` creates one beside the first, and a session may name one.
    pub more_tasks: Vec<String>,
    /// The task list that each session names.
    #[serde(skip_serializing_if = "NamedLists::is_empty")]
    pub lists: NamedLists,
    /// The team's name, if it differs from the directory's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Claude Code's configuration directory with the files; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<ConfigDir>,
    /// The directory below `teams/` with the inboxes, if it is not the team's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_dir: Option<String>,
    pub present: bool,
    pub ended: bool,
    /// Number of journals written without the lock that are included here.
    #[serde(skip_serializing_if = "is_zero")]
    pub alone: usize,
    /// The files by path below Claude Code's directory.
    pub files: BTreeMap<String, CapturedFile>,
}

impl Index {
    pub const VERSION: u8 = 2;
}

impl JsonDocument for Index {
    fn check(&self) -> Result<(), String> {
        // The index of an earlier build names contents that are elsewhere. It is made again from the journal.
        if self.v < Index::VERSION {
            return Err(format!("format version {}", self.v));
        }
        // An invalid run ID would prevent all future captures.
        match SafeName::new(&self.run) {
            Some(_) => Ok(()),
            None => Err(format!("{:?} is not a valid run ID", self.run)),
        }
    }
}

/// A member's name and pane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterEntry {
    pub name: String,
    /// `%0` for a split pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
    /// Working directory of a split pane; pane numbers repeat between tmux servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The last captured state of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapturedFile {
    /// Size in bytes, mtime and ctime in nanoseconds since 1970, inode.
    pub stamp: (u64, i64, i64, u64),
    /// The content's hash; `None` if it could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why the gates cannot see it: it could not be stored, or Claude Code cannot read the stored content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The hash of its last content that was complete JSON, if this content is half-written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Whether it was written so shortly before the capture that a later write may have the same stamp.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Where the run's contents have this content, or the last one that was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// The part of the content that the gates need, if it is small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<FileFacts>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl CapturedFile {
    pub fn matches(&self, stamp: &Stamp) -> bool {
        self.stamp == (stamp.size, stamp.modified, stamp.changed, stamp.inode)
    }

    pub fn new(stamp: &Stamp, object: Option<String>) -> CapturedFile {
        let stamp = (stamp.size, stamp.modified, stamp.changed, stamp.inode);
        CapturedFile { stamp, object, ..CapturedFile::default() }
    }

    pub fn skipped(stamp: &Stamp, why: &str) -> CapturedFile {
        CapturedFile { skipped: Some(why.to_owned()), ..CapturedFile::new(stamp, None) }
    }

    /// Why the gates cannot see it, if they cannot. Older versions stored no reason.
    pub fn why_unreadable(&self) -> Option<&str> {
        let unstored = self.object.is_none().then_some("it could not be stored");
        self.skipped.as_deref().or(unstored)
    }

    /// The hash of the last content that was complete, if any was.
    pub fn complete(&self) -> Option<&str> {
        self.content().filter(|_| self.skipped.is_none())
    }

    /// The hash of the last complete content, if there is one, else of the last content.
    pub fn content(&self) -> Option<&str> {
        self.whole.as_deref().or(self.object.as_deref())
    }
}

/// A team was created at most this long after it was first seen: other numbers are not times.
const MAX_CLOCK_DIFFERENCE: TimeDelta = TimeDelta::days(365);

impl Index {
    /// Whether the process of the team's lead is certainly gone.
    pub fn is_client_gone(&self) -> bool {
        let (space, start) = (self.lead_space.as_deref(), self.lead_start.as_deref());
        self.lead_pid.is_some_and(|pid| process::is_gone(pid, space, start))
    }

    /// When Claude Code created the team, which was seen then; `None` if that is unknown or not possible. The number itself
    /// identifies the run all the same.
    pub fn created(&self, seen: Timestamp) -> Option<Timestamp> {
        let created = Timestamp::from_millis(self.created_at.filter(|millis| *millis > 0)?)?;
        (created <= seen + MAX_CLOCK_DIFFERENCE).then_some(created)
    }

    /// Whether the files are in this configuration directory of Claude Code. An index without a recorded directory belongs to
    /// whoever looks first.
    pub fn is_in(&self, client: &Path) -> bool {
        self.config_dir.as_ref().is_none_or(|dir| dir.is_at(client))
    }

    /// Whether this configuration belongs to another run than the current one. A field that is missing on either side
    /// is not compared.
    pub(crate) fn is_other_run(&self, team: &TeamConfig) -> bool {
        fn differ<T: PartialEq>(mine: &Option<T>, theirs: &Option<T>) -> bool {
            matches!((mine, theirs), (Some(mine), Some(theirs)) if mine != theirs)
        }
        differ(&self.created_at, &team.created_at) || differ(&self.lead_session, &team.lead_session)
    }

    /// Whether this session leads the team.
    pub fn is_led_by(&self, session: Option<&str>) -> bool {
        self.lead_session.is_some() && self.lead_session.as_deref() == session
    }

    /// Whether the team exists: a directory without a configuration may be a leftover or a mistake.
    pub fn is_there(&self) -> bool {
        self.present && self.files.keys().any(|path| path.ends_with("/config.json"))
    }

    pub(crate) fn learn(&mut self, team: &TeamConfig) {
        self.created_at = team.created_at.or(self.created_at);
        if team.lead_session.is_some() {
            self.lead_session.clone_from(&team.lead_session);
        }
        if let Some(process) = team.lead_process.clone() {
            self.learn_process(process);
        }
        // tmux reuses pane numbers after all panes were closed: a pane that now belongs to another member is no longer
        // the former member's.
        let present: HashSet<&str> = team.members.iter().map(|member| member.name.as_str()).collect();
        let taken: HashSet<&str> = team.members.iter().filter_map(|member| member.pane.as_deref()).collect();
        for entry in self.members.iter_mut().filter(|entry| !present.contains(entry.name.as_str())) {
            entry.pane.take_if(|pane| taken.contains(pane.as_str()));
        }
        // Teams may be large, so look names up in a map.
        let mut positions: HashMap<String, usize> =
            self.members.iter().enumerate().map(|(position, entry)| (entry.name.clone(), position)).collect();
        for member in &team.members {
            let name = &member.name;
            let position = *positions.entry(name.clone()).or_insert_with(|| {
                self.members.push(RosterEntry { name: name.clone(), ..RosterEntry::default() });
                self.members.len() - 1
            });
            let entry = &mut self.members[position];
            let pane = member.pane.clone().filter(|pane| pane.starts_with('%'));
            let cwd = member.cwd.clone().filter(|_| pane.is_some());
            entry.pane = pane.or(entry.pane.take());
            entry.cwd = cwd.or(entry.cwd.take());
        }
    }

    pub fn learn_process(&mut self, process: ProcessId) {
        self.lead_pid = Some(process.pid);
        self.lead_space = process.space;
        self.lead_start = process.start;
    }

    /// Stores the team's name and the directories that Claude Code spells differently. Returns whether they were new.
    pub(crate) fn learn_spelling(&mut self, name: &str, team: &str) -> bool {
        let spelled = mailbox(name);
        if name == team || !is_of(&spelled, team) || self.called.as_deref() == Some(name) {
            return false;
        }
        self.called = Some(name.to_owned());
        if spelled != team {
            if !self.more_tasks.contains(&spelled) {
                self.more_tasks.push(spelled.clone());
            }
            self.mail_dir = Some(spelled);
        }
        true
    }

    /// Adds the task lists of another session of the lead. Returns whether they were new.
    pub fn learn_session(&mut self, session: &str) -> bool {
        let head = session.get(..8).map(|head| format!("session-{head}"));
        let lists = head.into_iter().chain([session.to_owned()]);
        let new: Vec<String> = lists.filter(|list| !self.more_tasks.contains(list)).collect();
        self.more_tasks.extend_from_slice(&new);
        !new.is_empty()
    }

    pub fn learn_list(&mut self, session: &str, list: Option<&str>) {
        self.lists.note(session, list);
        let new = list.filter(|list| !self.more_tasks.iter().any(|known| known == list));
        self.more_tasks.extend(new.map(str::to_owned));
    }

    pub fn list_of_lead(&self) -> Option<&str> {
        self.lists.of(self.lead_session.as_deref()?)
    }

    /// The task lists in use by the team, with task ids as `session` sees them; without a session, as the lead does.
    pub fn lists<'a>(&'a self, team: Option<&'a str>, session: Option<&str>) -> Lists<'a> {
        self.lists.in_force(team, self.lead_session.as_deref(), session)
    }

    /// The current or former member that this name refers to.
    pub fn member(&self, word: &str) -> Option<&str> {
        spelled(word, || self.members.iter().map(|entry| entry.name.as_str()))
    }

    /// Whether a member of this name was ever in the team.
    pub fn has_member(&self, name: &str) -> bool {
        self.members.iter().any(|entry| entry.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_belongs_to_the_last_member_that_had_it() {
        let mut index = Index::default();
        let mut learn = |members: &str| {
            let config = format!("{{\"members\":[{members}]}}");
            index.learn(&TeamConfig::parse(config.as_bytes()).unwrap());
            let entries = index.members.iter();
            entries
                .map(|entry| (entry.name.clone(), entry.pane.clone().unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        let (remy, sam) = (r#"{"name":"remy","tmuxPaneId":"%0"}"#, r#"{"name":"sam","tmuxPaneId":"%1"}"#);
        learn(&format!("{remy},{sam}"));
        let pair = |remy: &str, sam: &str| {
            vec![("remy".to_owned(), remy.to_owned()), ("sam".to_owned(), sam.to_owned())]
        };
        assert_eq!(learn(""), pair("%0", "%1"), "a member that left may still act");
        assert_eq!(learn(r#"{"name":"remy","tmuxPaneId":"%1"}"#), pair("%1", ""));
    }
}
