//! The panels, and the selected item of each.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Panel {
    Alerts,
    #[default]
    Agents,
    Tasks,
    Messages,
}

impl Panel {
    pub const ALL: [Panel; 4] = [Panel::Alerts, Panel::Agents, Panel::Tasks, Panel::Messages];
}

/// The selected item of each panel, by what identifies it: the board changes while it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The id of an incident.
    pub alert: Option<String>,
    pub agent: Option<String>,
    pub task: Option<String>,
    /// A place in [`Recording::messages`]; `None` follows the newest.
    pub message: Option<usize>,
}
