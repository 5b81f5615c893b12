//! Details or help on the whole screen.

use ratatui_core::layout::{Constraint, Layout};
use ratatui_core::terminal::Frame;

use super::page::Page;
use super::panel::{put, title};
use super::subject;
use crate::view::{bold, dim};
use crate::watch::lists::Subject;
use crate::watch::recording::{Moment, Recording};
use crate::watch::state::{Mode, WatchState};

/// Draws the page that the mode names, from its scroll position, which is limited to the end.
pub fn draw(frame: &mut Frame<'_>, recording: &Recording, moment: &Moment, state: &mut WatchState) {
    let area = frame.area();
    let mut page = Page::new(area.width.into());
    let (mode, is_copied) = (&mut state.mode, state.copied.is_some());
    let heading = match &*mode {
        Mode::Details { subject, .. } => subject::write(&mut page, recording, moment, subject),
        _ => help(&mut page),
    };
    let body = title(frame, area, true, [bold(heading)]);
    let [body, foot] = Layout::vertical([Constraint::Fill(1), Constraint::Max(1)]).areas(body);
    let room = usize::from(body.height);
    let (Mode::Details { scroll, .. } | Mode::Help { scroll }) = &mut *mode else { return };
    *scroll = (*scroll).min(page.rows.len().saturating_sub(room));
    let more = page.rows.len() - (*scroll + room).min(page.rows.len());
    for (row, area) in page.rows.into_iter().skip(*scroll).zip(body.rows()) {
        put(frame, area, [row]);
    }
    let copy = match mode {
        Mode::Details { subject: Subject::Incident(_), .. } if is_copied => "copied  ",
        Mode::Details { subject: Subject::Incident(_), .. } => "y: copy the remedy  ",
        _ => "",
    };
    let more = if more == 0 { String::new() } else { format!("{more} more rows below  ") };
    put(frame, foot, [dim(format!("{more}j/k: scroll  !: next incident  {copy}Esc: back"))]);
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
            ("y", "copy the remedy of the selected or the worst incident"),
            ("/", "filter agents, tasks and messages by words; Esc clears the filter"),
            (
                "f",
                "follow: to the newest message, and to now or to the end; a past run opens at its worst incident",
            ),
            (
                "mouse",
                "a click selects, a second one opens, the wheel scrolls, and the bar of the time seeks; with Shift, most terminals select text",
            ),
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
            (
                "after #41",
                "the task waits for task 41; in red if that one is unassigned or its owner is stalled",
            ),
        ],
    ),
];

/// Writes the page of keys, and returns its title.
fn help(page: &mut Page) -> String {
    for (title, keys) in GROUPS {
        page.heading(title);
        keys.iter().for_each(|(key, what)| page.hanging(&format!("  {key:<24}"), what));
    }
    "Keys".to_owned()
}
