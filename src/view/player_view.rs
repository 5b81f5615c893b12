//! The screen of `replay --speed`: clock, agents, tasks, and the last lines of the timeline.

use super::format::{activity_style, elapsed, name_style, since, task_style, whole_seconds};
use super::line::{DIM, GREEN, Line, YELLOW, bold, dim, plain, styled};
use crate::timeline::LiveState;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::policy::Activity;
use teamkeep_core::sys::clock::{self, Timestamp};

#[derive(Debug)]
pub struct PlayerView<'a> {
    /// The team, or a text that there is none.
    pub team: &'a str,
    /// The start of the run: zero on its clock.
    pub started_at: Timestamp,
    pub now: Timestamp,
    /// The played part, from 0 to 1.
    pub played: f64,
    /// The speed, or that it is paused.
    pub pace: &'a str,
    /// The key bindings; empty if there are none.
    pub keys: &'a str,
    pub board: &'a LiveState,
    /// The last lines of the timeline, styled and shortened.
    pub lines: &'a [String],
}

/// Minimum number of lines for the timeline, its title and the keys.
const MIN_LINES: usize = 4;

/// Formats the screen for a terminal of this size. No line is wider than the columns minus one.
pub fn player_screen(view: &PlayerView<'_>, columns: usize, rows: usize) -> Vec<String> {
    let columns = columns.saturating_sub(1).max(1);
    let cut = |line: Line| line.cut(columns);
    let mut lines = vec![cut(view.clock(columns)), view.bar(columns)];
    let footer = usize::from(!view.keys.is_empty() && rows > 12);
    // Three titles.
    let body = rows.saturating_sub(lines.len() + footer + 3);
    let room = body.saturating_sub((body / 3).max(MIN_LINES));
    let (members, tasks) = (view.board.roster.len(), view.board.tasks.len());
    let for_tasks = tasks.min(room.saturating_sub(members).max(room / 2));
    lines.extend(view.members(room - for_tasks).into_iter().map(cut));
    lines.extend(view.tasks(for_tasks).into_iter().map(cut));
    lines.push(cut([bold("Story")].into()));
    let left = rows.saturating_sub(lines.len() + footer);
    lines.extend(view.lines.iter().skip(view.lines.len().saturating_sub(left)).cloned());
    if footer > 0 {
        lines.resize(rows - 1, String::new());
        lines.push(cut([dim(view.keys)].into()));
    }
    lines.truncate(rows);
    lines
}

impl PlayerView<'_> {
    fn clock(&self, columns: usize) -> Line {
        let ran = since(self.started_at, self.now);
        let time = match columns {
            0..70 => clock::local(self.now).format("%H:%M:%S").to_string(),
            _ => clock::moment(self.now),
        };
        Line::from([bold(ran).width(8), plain(time), styled(YELLOW, self.pace), dim(self.team)])
    }

    fn bar(&self, columns: usize) -> String {
        let done = (((columns as f64) * self.played.clamp(0.0, 1.0)) as usize).min(columns);
        let (bar, rest) = ("━".repeat(done), "─".repeat(columns - done));
        format!("{GREEN}{bar}{GREEN:#}{DIM}{rest}{DIM:#}")
    }

    fn members(&self, room: usize) -> Vec<Line> {
        let LiveState { roster, tasks } = self.board;
        let present = roster.iter().filter(|member| member.doing != Activity::Gone).count();
        let shown = chosen(roster.iter(), room, |member| member.doing as usize);
        let mut lines = vec![title("Members", present, roster.len(), "here", shown.len())];
        for member in shown {
            let lasts = elapsed(member.since, self.now);
            let is_own = |owner: &Option<String>| owner.as_deref() == Some(member.name.as_str());
            let own = tasks
                .iter()
                .filter(|(_, task)| task.status == Some(TaskStatus::InProgress) && is_own(&task.owner));
            let own: Vec<String> = own.map(|((_, id), task)| format!("{id} {}", task.subject)).collect();
            let word = member.doing.word();
            lines.push(Line::from([
                styled(name_style(&member.name), format!("  {}", member.name)).width(12),
                styled(activity_style(word), word).width(5),
                dim(whole_seconds(&lasts)).width(6),
                plain(if own.is_empty() { String::new() } else { format!("task {}", own.join(", ")) }),
            ]));
        }
        lines
    }

    fn tasks(&self, room: usize) -> Vec<Line> {
        let tasks = &self.board.tasks;
        let done = tasks.values().filter(|task| task.status == Some(TaskStatus::Completed)).count();
        let shown = chosen(tasks.iter(), room, |(_, task)| match &task.status {
            Some(TaskStatus::InProgress) => 0,
            Some(TaskStatus::Pending) => 1,
            Some(TaskStatus::Completed) => 3,
            None | Some(TaskStatus::Deleted) => 4,
            _ => 2,
        });
        let mut lines = vec![title("Tasks", done, tasks.len(), "done", shown.len())];
        for ((_, id), task) in shown {
            let owner = task.owner.as_deref().unwrap_or("-");
            lines.push(Line::from([
                plain(format!("  {id}")).width(4),
                styled(task_style(task.word()), task.word()).width(11),
                styled(name_style(owner), owner).width(8),
                plain(&task.subject),
            ]));
        }
        lines
    }
}

/// The items that fit, in their order: lowest rank first, then by position.
fn chosen<T>(all: impl Iterator<Item = T>, room: usize, rank: impl Fn(&T) -> usize) -> Vec<T> {
    let mut ranked: Vec<(usize, T)> = all.enumerate().collect();
    if ranked.len() > room {
        ranked.sort_by_key(|(place, item)| (rank(item), *place));
        ranked.truncate(room);
        ranked.sort_by_key(|(place, _)| *place);
    }
    ranked.into_iter().map(|(_, item)| item).collect()
}

/// A title with the number of items and of hidden lines.
fn title(name: &str, number: usize, all: usize, what: &str, shown: usize) -> Line {
    let counts = match all - shown.min(all) {
        _ if all == 0 => String::new(),
        0 => format!("({number} of {all} {what})"),
        hidden => format!("({number} of {all} {what}, {hidden} not shown)"),
    };
    Line::from([bold(name), dim(counts)])
}
