//! Finds a running session that uses a task list.

use std::path::Path;

use serde_json::Value;

use crate::archive::Archive;
use crate::fs::read_regular;
use crate::json;
use crate::process::is_gone;
use crate::team::{TeamConfig, is_uuid, mailbox};

/// Maximum size of a session file or team configuration in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The session that uses a list, from Claude Code's files: the lead that its team names, or a running session that
/// would use it. Claude Code does not note a list that came from `CLAUDE_CODE_TASK_LIST_ID`: [`user`] finds its
/// session.
pub fn holder(client: &Path, list: &str) -> Option<String> {
    let sessions = running(client);
    let own = |session: &LiveHolder| {
        let team = session.team();
        let goes_on = read_regular(&client.join("tasks").join(&team).join(".session-list"), 4096).ok();
        let goes_on = goes_on.map(|(bytes, _)| String::from_utf8_lossy(&bytes).trim().to_owned());
        session.id == list || team == list || goes_on.is_some_and(|named| mailbox(&named) == list)
    };
    if let Some(session) = sessions.iter().find(|session| own(session)) {
        return Some(format!("session {} is running (process {})", session.id, session.pid));
    }
    let config = read_regular(&client.join("teams").join(list).join("config.json"), MAX_BYTES).ok()?.0;
    let Some(config) = TeamConfig::parse(&config) else {
        return Some("its team exists, but the configuration cannot be read".to_owned());
    };
    if let Some(lead) = config.lead_process {
        let gone = is_gone(lead.pid, lead.space.as_deref(), lead.start.as_deref());
        return (!gone).then(|| format!("the lead of its team is running (process {})", lead.pid));
    }
    let lead = config.lead_session.unwrap_or_default();
    if let Some(session) = sessions.iter().find(|session| session.id == lead) {
        return Some(format!("the lead of its team is running (process {})", session.pid));
    }
    // Before 2.1.328 Claude Code names no process in the team, but 2.1.177 notes each running session.
    let known = client.join("sessions").is_dir() && is_uuid(&lead);
    (!known).then(|| "its team exists, and whether its Claude Code process runs is unknown".to_owned())
}

/// The session of a recorded run that uses a list through `CLAUDE_CODE_TASK_LIST_ID` and is not known to have ended.
pub fn user(archive: &Archive, list: &str) -> Option<String> {
    archive.open_subjects().into_iter().find_map(|subject| {
        let index = archive.index(&subject).filter(|index| !index.ended)?;
        let session = index.lists.session_of(list)?;
        let (space, start) = (index.lead_space.as_deref(), index.lead_start.as_deref());
        match index.lead_pid {
            Some(pid) if is_gone(pid, space, start) => None,
            Some(pid) => Some(format!("session {session} uses it (process {pid})")),
            None => Some(format!("session {session} uses it, and whether its process runs is unknown")),
        }
    })
}

/// A session whose process is not certainly gone.
struct LiveHolder {
    id: String,
    pid: u32,
}

impl LiveHolder {
    /// The name of its team.
    fn team(&self) -> String {
        format!("session-{}", self.id.get(..8).unwrap_or(&self.id))
    }
}

/// The running sessions, from Claude Code's files `sessions/<pid>.json`.
fn running(client: &Path) -> Vec<LiveHolder> {
    let listing = std::fs::read_dir(client.join("sessions")).into_iter().flatten().flatten();
    let notes = listing.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "json"));
    let mut running: Vec<LiveHolder> = notes
        .filter_map(|entry| {
            let (bytes, _) = read_regular(&entry.path(), MAX_BYTES).ok()?;
            let note = json::parse_lossy(&bytes)?;
            let id = note.get("sessionId")?.as_str().filter(|id| is_uuid(id))?.to_owned();
            let pid = u32::try_from(note.get("pid")?.as_u64()?).ok()?;
            let text = |key: &str| note.get(key).and_then(Value::as_str);
            // `linux:<machine>:pid:[4026531836]`: the part that identifies the namespace.
            let space =
                text("pidDomain").and_then(|domain| Some(format!("#{}", &domain[domain.find("pid:[")?..])));
            (!is_gone(pid, space.as_deref(), text("procStart"))).then_some(LiveHolder { id, pid })
        })
        .collect();
    running.sort_by_key(|session| session.pid);
    running
}
