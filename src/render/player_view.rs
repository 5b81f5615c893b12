//! The screen of `replay --speed`: clock, agents, tasks, and the last lines of the timeline.

use anstyle::{AnsiColor, Style};

use super::format::{elapsed, name_style, span};
use super::styled_line::StyledLine;
use crate::clock::{self, Time};
use crate::model::TaskStatus;
use crate::timeline::{Activity, LiveState};

/// The content of the screen at a moment.
#[derive(Debug)]
pub struct View<'a> {
    /// The team, or a text that there is none.
    pub team: &'a str,
    /// The start of the run, RFC 3339: zero on its clock.
    pub started_at: &'a str,
    /// The clock.
    pub now: Time,
    /// The played part, from 0 to 1.
    pub played: f64,
    /// The speed, or that it is paused.
    pub pace: &'a str,
    /// The key bindings; empty if there are none.
    pub keys: &'a str,
    /// The agents and tasks.
    pub board: &'a LiveState,
    /// The last lines of the timeline, styled and shortened.
    pub story: &'a [String],
}

/// Minimum number of lines for the timeline, its title and the keys.
const STORY: usize = 4;

/// Formats the screen for a terminal of this size. No line is wider than the columns minus one.
pub fn screen(view: &View<'_>, columns: usize, rows: usize) -> Vec<String> {
    let page = Page { view, columns: columns.saturating_sub(1).max(1) };
    let mut lines = vec![page.clock(), page.bar()];
    let footer = usize::from(!view.keys.is_empty() && rows > 12);
    // Three titles.
    let body = rows.saturating_sub(lines.len() + footer + 3);
    let room = body.saturating_sub((body / 3).max(STORY));
    let (members, tasks) = (view.board.roster.len(), view.board.tasks.len());
    let for_tasks = tasks.min(room.saturating_sub(members).max(room / 2));
    lines.extend(page.members(room - for_tasks));
    lines.extend(page.tasks(for_tasks));
    lines.push(page.title("Story", ""));
    let left = rows.saturating_sub(lines.len() + footer);
    lines.extend(view.story.iter().skip(view.story.len().saturating_sub(left)).cloned());
    if footer > 0 {
        lines.resize(rows - 1, String::new());
        lines.push(page.line(&[(Style::new().dimmed(), view.keys, 0)]));
    }
    lines.truncate(rows);
    lines
}

struct Page<'a> {
    view: &'a View<'a>,
    columns: usize,
}

impl Page<'_> {
    fn line(&self, pieces: &[(Style, &str, usize)]) -> String {
        let mut cells = StyledLine::default();
        pieces.iter().for_each(|(style, text, width)| cells.add(*style, text, *width));
        let mut out = Vec::new();
        let _ = cells.write_cut(&mut out, Some(self.columns));
        String::from_utf8_lossy(&out).trim_end_matches('\n').to_owned()
    }

    fn title(&self, name: &str, more: &str) -> String {
        self.line(&[(Style::new().bold(), name, 0), (Style::new().dimmed(), more, 0)])
    }

    fn clock(&self) -> String {
        let view = self.view;
        let start = clock::parse(view.started_at).unwrap_or(view.now);
        let ran = (view.now - start).num_milliseconds();
        // Tenths would flicker.
        let ran = span(if ran.abs() < 60_000 { ran } else { ran / 1_000 * 1_000 });
        let ran = if ran.starts_with('-') { ran } else { format!("+{ran}") };
        let time = match self.columns {
            0..70 => clock::local(view.now).format("%H:%M:%S").to_string(),
            _ => clock::moment(view.now),
        };
        let plain = Style::new();
        self.line(&[
            (plain.bold(), &ran, 8),
            (plain, &time, 0),
            (AnsiColor::Yellow.on_default(), view.pace, 0),
            (plain.dimmed(), view.team, 0),
        ])
    }

    fn bar(&self) -> String {
        let done = ((self.columns as f64) * self.view.played.clamp(0.0, 1.0)) as usize;
        let bar = "━".repeat(done.min(self.columns));
        let rest = "─".repeat(self.columns.saturating_sub(done));
        let (done, left) = (AnsiColor::Green.on_default(), Style::new().dimmed());
        format!("{done}{bar}{done:#}{left}{rest}{left:#}")
    }

    fn members(&self, room: usize) -> Vec<String> {
        let board = self.view.board;
        let there = board.roster.iter().filter(|seat| seat.doing != Activity::Gone).count();
        let kept = chosen(board.roster.iter(), room, |seat| seat.doing as usize);
        let mut lines = vec![self.title("Members", &counted(there, board.roster.len(), "here", kept.len()))];
        for seat in kept {
            let style = match seat.doing {
                Activity::Works => AnsiColor::Green.on_default(),
                Activity::Stops => AnsiColor::Yellow.on_default(),
                Activity::Here | Activity::Idles => Style::new(),
                Activity::Gone => Style::new().dimmed(),
            };
            let lasts = elapsed(&seat.since, &clock::stamp(self.view.now)).unwrap_or_default();
            let lasts = lasts.split_once('.').map_or(lasts.clone(), |(whole, _)| format!("{whole}s"));
            let tasks = board.tasks.iter().filter(|(_, card)| {
                card.status == Some(TaskStatus::InProgress)
                    && card.owner.as_deref() == Some(seat.name.as_str())
            });
            let at: Vec<String> = tasks.map(|((_, id), card)| format!("{id} {}", card.subject)).collect();
            let at = if at.is_empty() { String::new() } else { format!("task {}", at.join(", ")) };
            let name = format!("  {}", seat.name);
            lines.push(self.line(&[
                (name_style(&seat.name), &name, 12),
                (style, seat.doing.word(), 5),
                (Style::new().dimmed(), &lasts, 6),
                (Style::new(), &at, 0),
            ]));
        }
        lines
    }

    fn tasks(&self, room: usize) -> Vec<String> {
        let tasks = &self.view.board.tasks;
        let done = tasks.values().filter(|card| card.status == Some(TaskStatus::Completed)).count();
        let kept = chosen(tasks.iter(), room, |(_, card)| match &card.status {
            Some(TaskStatus::InProgress) => 0,
            Some(TaskStatus::Pending) => 1,
            Some(TaskStatus::Completed) => 3,
            None | Some(TaskStatus::Deleted) => 4,
            _ => 2,
        });
        let mut lines = vec![self.title("Tasks", &counted(done, tasks.len(), "done", kept.len()))];
        for ((_, id), card) in kept {
            let style = match &card.status {
                Some(TaskStatus::Completed) => AnsiColor::Green.on_default(),
                Some(TaskStatus::InProgress) => AnsiColor::Blue.on_default(),
                None | Some(TaskStatus::Deleted) => AnsiColor::Red.on_default(),
                _ => Style::new(),
            };
            let owner = card.owner.as_deref().unwrap_or("-");
            lines.push(self.line(&[
                (Style::new(), &format!("  {id}"), 4),
                (style, card.word(), 11),
                (name_style(owner), owner, 8),
                (Style::new(), &card.subject, 0),
            ]));
        }
        lines
    }
}

/// The items that fit, in their order: lowest rank first, then by position.
fn chosen<T>(all: impl ExactSizeIterator<Item = T>, room: usize, rank: impl Fn(&T) -> usize) -> Vec<T> {
    let mut ranked: Vec<(usize, T)> = all.enumerate().collect();
    if ranked.len() > room {
        ranked.sort_by_key(|(place, thing)| (rank(thing), *place));
        ranked.truncate(room);
        ranked.sort_by_key(|(place, _)| *place);
    }
    ranked.into_iter().map(|(_, thing)| thing).collect()
}

/// The part of a title with the number of items and of hidden lines.
fn counted(number: usize, all: usize, what: &str, shown: usize) -> String {
    match all - shown.min(all) {
        _ if all == 0 => String::new(),
        0 => format!("({number} of {all} {what})"),
        hidden => format!("({number} of {all} {what}, {hidden} not shown)"),
    }
}
