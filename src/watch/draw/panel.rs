//! Common parts of the panels: titles, the part of a list that fits, and short durations.

use anstyle::Style;

use super::canvas::Canvas;
use crate::status::{AgentState, Member, count_states};
use crate::view::{DIM, GREEN, RED, Span, YELLOW, age, bold, dim, styled};
use teamkeep_history::report::Severity;
use teamkeep_model::time::Timestamp;

pub const BOLD: Style = Style::new().bold();
pub const PLAIN: Style = Style::new();

/// Whether a panel has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Here,
    Elsewhere,
}

impl Focus {
    /// The sign before a row.
    pub fn mark(self, row: usize, selected: usize) -> Span {
        bold(if self == Focus::Here && row == selected { "▸" } else { " " })
    }
}

/// Draws the title of a panel.
pub fn title(canvas: &mut Canvas<'_>, focus: Focus, pieces: &[Span]) {
    match focus {
        Focus::Here => canvas.title(0, pieces, BOLD, '━'),
        Focus::Elsewhere => canvas.title(0, pieces, DIM, '─'),
    }
}

/// The part of a list that is shown in so many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub start: usize,
    pub end: usize,
    /// Whether the last row is for the number of hidden items.
    pub is_cut: bool,
}

impl Window {
    /// The part with the selected item, from the start if possible.
    pub fn from_start(count: usize, rows: usize, selected: usize) -> Window {
        if count <= rows {
            return Window { start: 0, end: count, is_cut: false };
        }
        let room = rows.saturating_sub(1);
        let start = (selected + 1).saturating_sub(room).min(count - room);
        Window { start, end: start + room, is_cut: rows > 0 }
    }

    /// The part with the selected item, from the end if possible. Hidden items are not counted.
    pub fn from_end(count: usize, rows: usize, selected: usize) -> Window {
        let start = count.saturating_sub(rows).min(selected);
        Window { start, end: (start + rows).min(count), is_cut: false }
    }
}

/// A duration for a narrow column: `12s`, `4m5s`, `3h18m`, `2d4h`.
pub fn short(from: Timestamp, to: Timestamp) -> String {
    age(from, to).replace("min", "m").replace(' ', "")
}

/// How a state is shown: its style, and a sign that is readable without colors.
pub fn state(state: AgentState) -> (Style, &'static str) {
    match state {
        AgentState::Failed | AgentState::Stalled => (RED.bold(), "!"),
        AgentState::Waiting => (YELLOW.bold(), "?"),
        AgentState::Working => (GREEN, "●"),
        AgentState::ShuttingDown => (YELLOW, "◌"),
        AgentState::Idle | AgentState::Joined => (PLAIN, "○"),
        AgentState::Left => (DIM, "·"),
    }
}

pub fn severity(severity: Severity) -> Style {
    match severity {
        Severity::High => RED.bold(),
        Severity::Medium => YELLOW.bold(),
        Severity::Low => YELLOW,
    }
}

/// `1 stalled, 2 waiting`.
pub fn counted<'a>(members: impl IntoIterator<Item = &'a Member>) -> Vec<Span> {
    let mut pieces = Vec::new();
    for (index, (state, count)) in
        count_states(members.into_iter().map(|member| member.state)).into_iter().enumerate()
    {
        let comma = if index == 0 { "" } else { ", " };
        pieces.push(dim(comma));
        pieces.push(styled(self::state(state).0, format!("{count} {}", state.word())));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_does_not_fit_shows_the_selected_item_and_keeps_a_row_for_the_rest() {
        let whole = Window { start: 0, end: 5, is_cut: false };
        assert_eq!([Window::from_start(5, 5, 4), Window::from_start(5, 9, 0)], [whole, whole]);
        let part = |start, end| Window { start, end, is_cut: true };
        assert_eq!(
            [0, 1, 2, 9].map(|selected| Window::from_start(10, 3, selected)),
            [part(0, 2), part(0, 2), part(1, 3), part(8, 10)]
        );
        assert_eq!(Window::from_start(10, 1, 9), part(10, 10));
        assert_eq!(Window::from_start(10, 0, 9), Window { start: 10, end: 10, is_cut: false });
    }

    #[test]
    fn a_list_is_shown_from_its_end_until_an_earlier_item_is_selected() {
        let part = |start, end| Window { start, end, is_cut: false };
        assert_eq!(
            [9, 7, 3].map(|selected| Window::from_end(10, 3, selected)),
            [part(7, 10), part(7, 10), part(3, 6)]
        );
        assert_eq!(Window::from_end(2, 3, 1), part(0, 2));
        assert_eq!(Window::from_end(2, 0, 1), part(1, 1));
    }

    #[test]
    fn durations_are_narrow() {
        let time = |seconds: i64| Timestamp::from_millis(seconds * 1_000).unwrap();
        let spans = [0, 59, 60, 599, 3_599, 3_600, 11_880, 187_200, -5]
            .map(|seconds| short(time(100), time(100 + seconds)));
        assert_eq!(spans, ["0s", "59s", "1m", "9m59s", "59m", "1h", "3h18m", "2d4h", "0s"]);
    }
}
