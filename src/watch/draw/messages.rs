//! The tail of the messages.

use super::Scene;
use super::canvas::Canvas;
use super::layout::Need;
use super::panel::{PLAIN, Window, title};
use crate::view::{RED, Span, YELLOW, bold, count, dim, first_line, name_style, plain, styled};
use crate::watch::lists::Panel;
use teamkeep_history::timeline::{Entry, MessageEvent};
use teamkeep_model::time;

/// Title and two messages.
const LEAST: usize = 3;

pub fn need(scene: Scene<'_>) -> Need {
    let count = scene.lists.messages.len();
    Need { least: (1 + count).min(LEAST), all: if count == 0 { 0 } else { 1 + count } }
}

pub fn draw(mut canvas: Canvas<'_>, scene: Scene<'_>) {
    let messages = &scene.lists.messages;
    let focus = scene.focus(Panel::Messages);
    let shown = match messages.len() == scene.moment.messages {
        true => count(messages.len(), "message"),
        false => format!("{} of {} match", messages.len(), count(scene.moment.messages, "message")),
    };
    let follows = if scene.state.selection.message.is_none() { "" } else { ", f: follow" };
    title(&mut canvas, focus, &[bold("Messages "), dim(format!("{shown}{follows}"))]);
    let selected = scene.selected(Panel::Messages);
    let window = Window::from_end(messages.len(), canvas.rows().saturating_sub(1), selected);
    for (row, place) in (window.start..window.end).enumerate() {
        let entry = &scene.recording.entries()[scene.recording.messages[messages[place]]];
        let pieces = [vec![focus.mark(place, selected)], message(entry)].concat();
        canvas.row(row + 1, &pieces);
    }
}

fn message(entry: &Entry) -> Vec<Span> {
    let Some(message) = entry.message() else { return Vec::new() };
    let to = match message.to.as_deref() {
        Some("*") => "everyone",
        Some(to) => to,
        None => "unknown",
    };
    let (style, prefix) = match message.event {
        MessageEvent::Sent => (PLAIN, ""),
        MessageEvent::Refused => (RED, "not sent: "),
        MessageEvent::ShutdownRequested => (YELLOW, "shutdown request: "),
        MessageEvent::ShutdownApproved => (YELLOW, "approves its shutdown "),
        MessageEvent::ShutdownRejected => (YELLOW, "rejects its shutdown: "),
    };
    let text = message.summary.as_deref().unwrap_or(&message.text);
    vec![
        dim(format!("{} ", time::local(entry.at).format("%H:%M:%S"))),
        styled(name_style(&entry.actor), &entry.actor),
        dim(" → "),
        styled(name_style(to), to),
        plain("  "),
        styled(style, format!("{prefix}{}", first_line(text))),
    ]
}
