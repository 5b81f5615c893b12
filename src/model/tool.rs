//! The tools of Claude Code that concern a team.

/// A tool of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Starts a teammate or a subagent: `Agent`, before 2.1.63 `Task`.
    Agent,
    /// `SendMessage`
    SendMessage,
    /// `TaskCreate`
    TaskCreate,
    /// `TaskStop`
    TaskStop,
    /// `TaskUpdate`
    TaskUpdate,
    /// `TeamCreate`
    TeamCreate,
    /// `TeamDelete`
    TeamDelete,
    /// Any other tool.
    Other,
}

impl Tool {
    /// The tool of this name. Names are case-sensitive.
    pub fn named(name: &str) -> Tool {
        match name {
            "Agent" | "Task" => Tool::Agent,
            "SendMessage" => Tool::SendMessage,
            "TaskCreate" => Tool::TaskCreate,
            "TaskStop" => Tool::TaskStop,
            "TaskUpdate" => Tool::TaskUpdate,
            "TeamCreate" => Tool::TeamCreate,
            "TeamDelete" => Tool::TeamDelete,
            _ => Tool::Other,
        }
    }

    /// Whether its calls are in the timeline of a team.
    pub fn is_of_teams(self) -> bool {
        !matches!(self, Tool::TaskStop | Tool::Other)
    }
}
