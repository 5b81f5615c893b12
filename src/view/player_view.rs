//! The screen of `replay --speed`: clock, members, open tasks, and the last lines of the timeline.

use std::collections::BTreeMap;

use super::document::Document;
use super::format::since;
use super::line::{DIM, GREEN, Line, YELLOW, bold, dim, plain, styled};
use super::status::{board, limited};
use crate::status::Board;
use crate::timeline::LiveState;
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
    pub state: &'a LiveState,
    /// The last lines of the timeline, styled and shortened.
    pub lines: &'a [String],
}

/// Formats the screen for a terminal of this size. No line is wider than the columns minus one. Members and tasks have at
/// most half of the rows; hidden lines are counted.
pub fn player_screen(view: &PlayerView<'_>, (columns, rows): (usize, usize)) -> Vec<String> {
    let width = columns.saturating_sub(1).max(1);
    let time = match width {
        0..70 => clock::local(view.now).format("%H:%M:%S").to_string(),
        _ => clock::moment(view.now),
    };
    let run_time = since(view.started_at, view.now);
    let clock = Line::from([bold(run_time).width(8), plain(time), styled(YELLOW, view.pace), dim(view.team)]);
    let done = (((width as f64) * view.played.clamp(0.0, 1.0)) as usize).min(width);
    let (bar, rest) = ("━".repeat(done), "─".repeat(width - done));
    let mut lines = vec![clock.cut(width), format!("{GREEN}{bar}{GREEN:#}{DIM}{rest}{DIM:#}")];
    let mut team = Document::default();
    board(&Board::of(view.state), &BTreeMap::new(), view.now, &mut team);
    lines.extend(limited(&team, width, rows / 2));
    let footer = if view.keys.is_empty() || rows <= 12 { 0 } else { 1 };
    let room = rows.saturating_sub(lines.len() + footer);
    lines.extend(view.lines.iter().skip(view.lines.len().saturating_sub(room)).cloned());
    if footer > 0 {
        lines.resize(rows - 1, String::new());
        lines.push(Line::from([dim(view.keys)]).cut(width));
    }
    lines.truncate(rows);
    lines
}
