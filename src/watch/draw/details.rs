//! Details or help on the whole screen.

use super::canvas::{Canvas, piece};
use super::panel::BOLD;
use super::{help, subject};
use crate::view::DIM;
use crate::watch::moment::Moment;
use crate::watch::recording::Recording;
use crate::watch::state::Mode;

/// Draws the page that the mode names, from its scroll position, which is limited to the end.
pub fn draw(mut canvas: Canvas<'_>, recording: &Recording, moment: &Moment, mode: &mut Mode) {
    let (title, page) = match &*mode {
        Mode::Details { subject, .. } => subject::page(recording, moment, subject),
        _ => ("Keys".to_owned(), help::page()),
    };
    let rows = page.wrapped(canvas.columns());
    let room = canvas.rows().saturating_sub(2);
    if let Mode::Details { scroll, .. } | Mode::Help { scroll } = mode {
        *scroll = (*scroll).min(rows.len().saturating_sub(room));
        let shown = rows.iter().skip(*scroll).take(room);
        for (row, (style, text)) in shown.enumerate() {
            canvas.row(row + 1, &[piece(*style, text)]);
        }
        let more = rows.len().saturating_sub(*scroll + room);
        let more = if more == 0 { String::new() } else { format!("{more} more rows below  ") };
        canvas.title(0, &[piece(BOLD, &title)], BOLD, '━');
        let last = canvas.rows().saturating_sub(1);
        if last > 0 {
            canvas.row(last, &[piece(DIM, format!("{more}j/k: scroll  !: next alert  Esc: back"))]);
        }
    }
}
