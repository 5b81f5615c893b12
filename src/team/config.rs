//! `teams/<team>/config.json`: the members and the lead of a team.

use serde_json::Value;

use super::{text, whole};
use crate::json;

/// A team's configuration. Every field may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeamConfig {
    /// The team's name.
    pub name: Option<String>,
    /// When Claude Code created the team, in milliseconds since 1970.
    pub created_at: Option<i64>,
    /// The lead's session. `/clear` does not change it (2.1.328).
    pub lead_session: Option<String>,
    /// The lead's process, from 2.1.328 on.
    pub lead_process: Option<LeadProcess>,
    /// The lead and the teammates, in the file's order.
    pub members: Vec<Member>,
}

/// The lead's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadProcess {
    /// Its process id.
    pub pid: u32,
    /// The namespace of the process id: `host#pid:[4026531836]`.
    pub space: Option<String>,
    /// Start time, in kernel ticks since boot (`/proc/<pid>/stat`, field 22).
    pub start: Option<String>,
}

/// One member of a team.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The name.
    pub name: String,
    /// `name@team`.
    pub agent_id: Option<String>,
    /// `leader`, `in-process`, `%0`, or nothing.
    pub pane: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The initial prompt.
    pub prompt: Option<String>,
    /// When the member joined, in milliseconds since 1970.
    pub joined_at: Option<i64>,
    /// The member's JSON object.
    pub raw: Value,
}

impl TeamConfig {
    /// Parses the file; `None` if it is not a JSON object.
    pub fn parse(bytes: &[u8]) -> Option<TeamConfig> {
        let file = json::parse_lossy(bytes)?;
        file.as_object()?;
        let members = file.get("members").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Some(TeamConfig {
            name: text(&file, &["name", "team_name"]),
            created_at: whole(&file, &["createdAt", "created_at"]),
            lead_session: text(&file, &["leadSessionId", "lead_session_id"]),
            lead_process: file.get("leadProcess").and_then(LeadProcess::read),
            members: members.iter().filter_map(Member::read).collect(),
        })
    }
}

impl LeadProcess {
    fn read(value: &Value) -> Option<LeadProcess> {
        Some(LeadProcess {
            pid: u32::try_from(whole(value, &["pid"])?).ok()?,
            space: text(value, &["pidSpace"]),
            start: text(value, &["procStart"]),
        })
    }
}

impl Member {
    fn read(value: &Value) -> Option<Member> {
        Some(Member {
            name: text(value, &["name"])?,
            agent_id: text(value, &["agentId", "agent_id"]),
            pane: text(value, &["tmuxPaneId", "tmux_pane_id"]),
            cwd: text(value, &["cwd"]),
            prompt: text(value, &["prompt"]),
            joined_at: whole(value, &["joinedAt", "joined_at"]),
            raw: value.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read_and_nonsense_is_left_out() {
        let new = br#"{"name":"t","createdAt":5,"leadSessionId":"s","leadProcess":{"pid":7,"procStart":"9"},
            "members":[{"name":"team-lead","tmuxPaneId":"leader"},{"no":"name"},7]}"#;
        let team = TeamConfig::parse(new).unwrap();
        assert_eq!((team.created_at, team.lead_session.as_deref()), (Some(5), Some("s")));
        assert_eq!(team.lead_process.unwrap(), LeadProcess { pid: 7, space: None, start: Some("9".into()) });
        assert_eq!(team.members.len(), 1);
        let old = TeamConfig::parse(br#"{"team_name":"t","created_at":5.0,"members":"x"}"#).unwrap();
        assert_eq!((old.name.as_deref(), old.created_at), (Some("t"), Some(5)));
        assert_eq!(TeamConfig::parse(b"[]"), None);
        assert_eq!(TeamConfig::parse(b"{\"name\":"), None);
    }
}
