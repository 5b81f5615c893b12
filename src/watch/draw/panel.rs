//! Common parts of the panels: rows, titles, the part of a list that fits, short durations, and a text of several pages.

use std::ops::Range;

use anstyle::Style;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style as CellStyle;
use ratatui_core::terminal::Frame;
use ratatui_core::text;
use unicode_width::UnicodeWidthStr;

use crate::status::{AgentState, Member, count_states};
use crate::view::{DIM, GREEN, RED, Span, YELLOW, bold, dim, lasted, plain, styled, wrap_options};
use teamkeep_history::report::Severity;
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::escape;

pub const BOLD: Style = Style::new().bold();
pub const PLAIN: Style = Style::new();

/// Draws pieces into the first row of an area. `…` shows that some do not fit.
pub fn put(frame: &mut Frame<'_>, area: Rect, pieces: impl IntoIterator<Item = Span>) {
    // Nothing of the style that was there before remains.
    let pieces =
        pieces.into_iter().map(|piece| text::Span::styled(piece.text, CellStyle::reset().patch(piece.style)));
    let (line, area) = (text::Line::from_iter(pieces), area.intersection(frame.area()));
    frame.render_widget(&line, area);
    if line.width() > usize::from(area.width) && !area.is_empty() {
        let mut last = (area.right() - 1, area.y);
        // The last cell may be the second half of a wide character.
        if area.width > 1 && frame.buffer_mut()[(last.0 - 1, last.1)].symbol().width() > 1 {
            last.0 -= 1;
        }
        frame.buffer_mut()[last].set_symbol("…");
    }
}

/// Draws a title on a line, a heavy one if the panel has the focus. Returns the area below.
pub fn title(
    frame: &mut Frame<'_>,
    area: Rect,
    has_focus: bool,
    pieces: impl IntoIterator<Item = Span>,
) -> Rect {
    let (style, line) = if has_focus { (BOLD, "━") } else { (DIM, "─") };
    put(frame, area, [styled(style, line.repeat(area.width.into()))]);
    let place = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    put(frame, place, [plain(" ")].into_iter().chain(pieces).chain([plain(" ")]));
    Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area }
}

/// Draws some rows of a list, which follow a mark at the selected row.
pub fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    places: Range<usize>,
    marked: Option<usize>,
    row: impl Fn(usize, Rect) -> Vec<Span>,
) {
    for (place, area) in places.zip(area.rows()) {
        let mark = if marked == Some(place) { "▸" } else { " " };
        put(frame, area, [bold(mark)].into_iter().chain(row(place, area)));
    }
}

/// The rows of a list that fit, with the selected one. If the list is longer, the last row is for the number of the others.
pub fn fitting(count: usize, area: Rect, selected: usize) -> Range<usize> {
    let rows = usize::from(area.height);
    let room = if count > rows { rows.saturating_sub(1) } else { count };
    let start = (selected + 1).saturating_sub(room).min(count - room);
    start..start + room
}

/// The row below so many others.
pub fn row_below(area: Rect, rows: usize) -> Rect {
    area.rows().nth(rows).unwrap_or_default()
}

/// A duration for a narrow column: `12s`, `4m5s`, `3h18m`, `2d4h`.
pub fn short(from: Timestamp, to: Timestamp) -> String {
    lasted(from, to).replace("min", "m").replace(' ', "")
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

/// The least number of columns beside a term; with fewer, the text continues below it.
const MIN_COLUMNS: usize = 16;

/// Rows of text, each with one style. A row is wrapped where the screen ends.
#[derive(Debug)]
pub struct Page {
    columns: usize,
    pub rows: Vec<Span>,
}

impl Page {
    pub fn new(columns: usize) -> Page {
        Page { columns: columns.max(1), rows: Vec::new() }
    }

    /// A text, which continues below its first letter.
    pub fn row(&mut self, style: Style, text: impl AsRef<str>) {
        let (text, start) = (text.as_ref(), text.as_ref().trim_start_matches(' '));
        let indent = (text.len() - start.len()).min(self.columns / 2);
        self.wrap(style, (indent, indent), start);
    }

    /// A term and its text, which continues below itself.
    pub fn hanging(&mut self, term: &str, text: &str) {
        let column = Some(term.width()).filter(|column| column + MIN_COLUMNS <= self.columns);
        self.wrap(PLAIN, (0, column.unwrap_or(0)), &format!("{term}{text}"));
    }

    pub fn line(&mut self, text: impl AsRef<str>) {
        self.row(PLAIN, text);
    }

    /// A heading, after an empty row.
    pub fn heading(&mut self, text: impl AsRef<str>) {
        if !self.rows.is_empty() {
            self.line("");
        }
        self.row(BOLD, text);
    }

    /// A text of several lines, indented.
    pub fn text(&mut self, text: &str) {
        text.trim_end().lines().for_each(|line| self.line(format!("  {}", line.trim_end())));
    }

    fn wrap(&mut self, style: Style, (first, others): (usize, usize), text: &str) {
        let (first, others) = (" ".repeat(first), " ".repeat(others));
        let text = escape(text);
        let lines = textwrap::wrap(&text, wrap_options(self.columns, &first, &others));
        self.rows.extend(lines.into_iter().map(|line| styled(style, line)));
    }
}

/// The rows that a panel needs: at least so many to be of use, and all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub least: usize,
    pub all: usize,
}

/// Shares rows between panels, the most important first. Each gets its least number as far as there are rows; the rest goes
/// round, and the panel with the focus gets twice as many.
pub fn share(mut rows: u16, needs: &[Need], focus: usize) -> Vec<u16> {
    let mut shares = vec![0; needs.len()];
    let mut give = |place: usize, limit: usize| {
        let is_given = rows > 0 && usize::from(shares[place]) < limit;
        shares[place] += u16::from(is_given);
        rows -= u16::from(is_given);
        is_given
    };
    for (place, need) in needs.iter().enumerate() {
        while give(place, need.least.min(need.all)) {}
    }
    loop {
        let turns = (0..needs.len()).chain([focus.min(needs.len() - 1)]);
        if turns.filter(|place| give(*place, needs[*place].all)).count() == 0 {
            return shares;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    use super::*;

    fn drawn(columns: u16, texts: &[&str]) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
        terminal.draw(|frame| put(frame, frame.area(), texts.iter().map(plain))).unwrap();
        let cells = terminal.backend().to_string();
        cells.split('"').nth(1).unwrap().trim_end().to_owned()
    }

    #[test]
    fn a_row_is_cut_at_its_width() {
        let rows = [9, 8, 7, 6, 4, 1].map(|columns| drawn(columns, &["ab ", "日本", "cd"]));
        assert_eq!(rows, ["ab 日本cd", "ab 日本…", "ab 日…", "ab 日…", "ab …", "…"]);
    }

    #[test]
    fn a_row_has_no_control_characters() {
        assert_eq!(drawn(20, &["a\u{1b}[2J\n"]), "a\\u{1b}[2J\\n");
    }

    #[test]
    fn a_list_that_does_not_fit_shows_the_selected_item_and_keeps_a_row_for_the_rest() {
        let area = |rows| Rect::new(0, 0, 9, rows);
        assert_eq!([fitting(5, area(5), 4), fitting(5, area(9), 0)], [0..5, 0..5]);
        assert_eq!([0, 1, 2, 9].map(|selected| fitting(10, area(3), selected)), [0..2, 0..2, 1..3, 8..10]);
        assert_eq!([fitting(10, area(1), 9), fitting(10, area(0), 9)], [10..10, 10..10]);
    }

    #[test]
    fn durations_are_narrow() {
        let time = |seconds: i64| Timestamp::from_millis(seconds * 1_000).unwrap();
        let spans = [0, 59, 60, 599, 3_599, 3_600, 11_880, 187_200, -5]
            .map(|seconds| short(time(100), time(100 + seconds)));
        assert_eq!(spans, ["0s", "59s", "1m", "9m59s", "59m", "1h", "3h18m", "2d4h", "0s"]);
    }

    fn need(least: usize, all: usize) -> Need {
        Need { least, all }
    }

    #[test]
    fn the_most_important_panels_are_shown_first_and_the_rest_is_shared() {
        let needs = [need(3, 5), need(4, 14), need(4, 30), need(3, 3_000)];
        assert_eq!(share(21, &needs, 1), [5, 7, 5, 4], "all have room");
        assert_eq!(share(7, &needs, 1), [3, 4, 0, 0]);
        assert_eq!(share(8, &needs, 1), [3, 4, 1, 0]);
        assert_eq!(share(0, &needs, 3), [0, 0, 0, 0]);
        assert_eq!(share(100, &[need(0, 0), need(2, 3)], 0), [0, 3]);
    }

    proptest! {
        #[test]
        fn no_more_rows_are_shared_than_there_are(
            rows in 0u16..100,
            needs in prop::collection::vec((0usize..8, 0usize..40), 1..5),
            focus in 0usize..5,
        ) {
            let needs: Vec<Need> = needs.into_iter().map(|(least, more)| need(least, least + more)).collect();
            let shares = share(rows, &needs, focus);
            prop_assert!(shares.iter().sum::<u16>() <= rows);
            prop_assert!(shares.iter().zip(&needs).all(|(share, need)| usize::from(*share) <= need.all));
        }
    }
}
