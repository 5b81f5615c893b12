//! Details or help on the whole screen.

use super::canvas::Canvas;
use super::page::Page;
use super::panel::BOLD;
use super::subject;
use crate::view::{bold, dim, styled};
use crate::watch::recording::{Moment, Recording};
use crate::watch::state::Mode;

/// Draws the page that the mode names, from its scroll position, which is limited to the end.
pub fn draw(mut canvas: Canvas<'_>, recording: &Recording, moment: &Moment, mode: &mut Mode) {
    let (title, page) = match &*mode {
        Mode::Details { subject, .. } => subject::page(recording, moment, subject),
        _ => ("Keys".to_owned(), help()),
    };
    let rows = page.wrapped(canvas.columns());
    let room = canvas.rows().saturating_sub(2);
    if let Mode::Details { scroll, .. } | Mode::Help { scroll } = mode {
        *scroll = (*scroll).min(rows.len().saturating_sub(room));
        let shown = rows.iter().skip(*scroll).take(room);
        for (row, (style, text)) in shown.enumerate() {
            canvas.row(row + 1, &[styled(*style, text)]);
        }
        let more = rows.len().saturating_sub(*scroll + room);
        let more = if more == 0 { String::new() } else { format!("{more} more rows below  ") };
        canvas.title(0, &[bold(&title)], BOLD, '━');
        let last = canvas.rows().saturating_sub(1);
        if last > 0 {
            canvas.row(last, &[dim(format!("{more}j/k: scroll  !: next incident  Esc: back"))]);
        }
    }
}

const GROUPS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Board",
        &[
            ("Tab, Shift-Tab", "next and previous panel"),
            ("j, k, arrows", "next and previous row; in the tasks, h and l change the column"),
            ("g, G", "first and last row"),
            ("Enter", "details of the selected incident, agent, task or message"),
            ("!", "next incident"),
            ("/", "filter agents, tasks and messages by words; Esc clears the filter"),
            ("f", "follow: to the newest message, and to now or to the end of the run"),
            ("q, Ctrl-C", "quit"),
        ],
    ),
    (
        "Time",
        &[
            ("←, →", "to the previous and next entry of the timeline"),
            ("Shift-←, Shift-→, [, ]", "a minute back and forward"),
            ("0", "to the start of the run"),
            ("space", "play and pause; at the end of a run, play it from its start"),
            ("+, -", "faster and slower; a pause in the run takes at most two seconds"),
        ],
    ),
    (
        "Symbols",
        &[
            ("!", "a failed or stalled agent, or an incident"),
            ("?", "an agent that waits for permission, for approval or for another agent"),
            ("●  ○  ·", "working; idle or joined; left"),
            ("⛔#41", "the task waits for task 41"),
        ],
    ),
];

/// The page of keys.
fn help() -> Page {
    let mut page = Page::default();
    for (title, keys) in GROUPS {
        page.heading(title);
        keys.iter().for_each(|(key, what)| page.hanging(format!("  {key:<24}"), what));
    }
    page
}
