//! The panels, their rows at a moment, as filtered, and the selected item of each.

use super::recording::{Alert, Moment, Recording};
use crate::status::{Item, Member};
use teamkeep_history::timeline::Entry;
use teamkeep_model::TaskStatus;

/// The panels in the order of [`Panel::ALL`].
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

/// An item of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Incident(String),
    Agent(String),
    Task(String),
    /// A place in [`Recording::messages`].
    Message(usize),
}

impl Subject {
    pub fn panel(&self) -> Panel {
        match self {
            Subject::Incident(_) => Panel::Alerts,
            Subject::Agent(_) => Panel::Agents,
            Subject::Task(_) => Panel::Tasks,
            Subject::Message(_) => Panel::Messages,
        }
    }
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

/// The columns of the task board.
pub const COLUMNS: [&str; 3] = ["Pending", "In progress", "Done"];

#[derive(Debug)]
pub struct Lists<'a> {
    /// The incidents, which no filter hides.
    pub alerts: &'a [Alert],
    pub agents: Vec<&'a Member>,
    /// Pending, in progress, done.
    pub columns: [Vec<&'a Item>; 3],
    /// The places of messages in [`Recording::messages`], the oldest first.
    pub messages: Vec<usize>,
    /// The agents that need attention and do not match the filter.
    pub hidden_attention: usize,
}

impl<'a> Lists<'a> {
    pub fn of(recording: &'a Recording, moment: &'a Moment, filter: &str) -> Lists<'a> {
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        let is_match = |text: &dyn Fn() -> String| {
            words.is_empty() || {
                let text = text().to_lowercase();
                words.iter().all(|word| text.contains(word))
            }
        };
        let (agents, hidden): (Vec<&Member>, Vec<&Member>) =
            moment.board.members.iter().partition(|member| is_match(&|| agent_text(member)));
        let mut columns: [Vec<&Item>; 3] = Default::default();
        for task in moment.board.tasks.iter().filter(|task| is_match(&|| task_text(task))) {
            columns[column(task)].push(task);
        }
        // The work of agents that need attention is first, and of the completed tasks the newest.
        let is_stuck = |task: &Item| {
            let is_owner = |member: &&Member| task.owner.as_deref() == Some(member.name.as_str());
            moment.board.members.iter().filter(is_owner).any(|member| member.state.needs_attention())
        };
        columns[1].sort_by_key(|task| !is_stuck(task));
        columns[2].sort_by_key(|task| std::cmp::Reverse(task.since));
        let entry = |place: &usize| &recording.entries()[recording.messages[*place]];
        let messages = (0..moment.messages).filter(|place| is_match(&|| message_text(entry(place))));
        Lists {
            alerts: &moment.alerts,
            agents,
            columns,
            messages: messages.collect(),
            hidden_attention: hidden.iter().filter(|member| member.state.needs_attention()).count(),
        }
    }

    /// The column of a task on the board, and its row.
    pub fn place_of_task(&self, id: &str) -> Option<(usize, usize)> {
        let rows = self.columns.iter().map(|column| column.iter().position(|task| task.id == id));
        rows.enumerate().find_map(|(column, row)| Some((column, row?)))
    }

    /// The row of the selected item; of messages without one, the last. `None` if nothing is selected that is shown.
    pub fn selected(&self, panel: Panel, selection: &Selection) -> Option<usize> {
        match panel {
            Panel::Alerts => {
                let id = selection.alert.as_ref();
                self.alerts.iter().position(|alert| Some(&alert.id) == id)
            }
            Panel::Agents => {
                self.agents.iter().position(|member| Some(&member.name) == selection.agent.as_ref())
            }
            Panel::Tasks => selection.task.as_ref().and_then(|id| self.place_of_task(id)).map(|(_, row)| row),
            Panel::Messages => {
                let found = selection.message.and_then(|place| self.messages.binary_search(&place).ok());
                found.or(self.messages.len().checked_sub(1))
            }
        }
    }

    /// The selected row, or the first. `None` for an empty panel.
    pub fn row(&self, panel: Panel, selection: &Selection) -> Option<usize> {
        let is_empty = self.count(panel, selection) == 0;
        self.selected(panel, selection).or(if is_empty { None } else { Some(0) })
    }

    /// Number of rows of a panel; of the task board, of its selected column.
    pub fn count(&self, panel: Panel, selection: &Selection) -> usize {
        match panel {
            Panel::Alerts => self.alerts.len(),
            Panel::Agents => self.agents.len(),
            Panel::Tasks => self.columns[self.column(selection)].len(),
            Panel::Messages => self.messages.len(),
        }
    }

    /// The selected column of the task board: that of the selected task, else the first that has tasks in progress,
    /// pending or done.
    pub fn column(&self, selection: &Selection) -> usize {
        let selected = selection.task.as_ref().and_then(|id| self.place_of_task(id));
        let first = || [1, 0, 2].into_iter().find(|column| !self.columns[*column].is_empty());
        selected.map(|(column, _)| column).or_else(first).unwrap_or(0)
    }
}

fn column(task: &Item) -> usize {
    match task.status {
        TaskStatus::InProgress => 1,
        TaskStatus::Completed => 2,
        _ => 0,
    }
}

fn agent_text(member: &Member) -> String {
    let tasks: Vec<String> = member.tasks.iter().map(|id| format!("#{id}")).collect();
    format!("{} {} {}", member.name, member.state.word(), tasks.join(" "))
}

fn task_text(task: &Item) -> String {
    let blockers: Vec<String> = task.blocked_by.iter().map(|id| format!("#{id}")).collect();
    let owner = task.owner.as_deref().unwrap_or_default();
    format!("#{} {owner} {} {} {}", task.id, task.status.as_str(), task.subject, blockers.join(" "))
}

fn message_text(entry: &Entry) -> String {
    let to = entry.message().and_then(|message| message.to.as_deref()).unwrap_or_default();
    format!(
        "{} {to} {} {}",
        entry.actor,
        entry.summary().unwrap_or_default(),
        entry.text().unwrap_or_default()
    )
}
