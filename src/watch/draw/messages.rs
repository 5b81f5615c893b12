//! The tail of the messages.

use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;

use super::Scene;
use super::panel::{Need, PLAIN, list, title};
use crate::view::{DIM, RED, Span, YELLOW, bold, count, dim, first_line, name_style, plain, styled};
use crate::watch::Spot;
use crate::watch::lists::{Panel, Subject};
use teamkeep_history::timeline::{Entry, MessageEvent};
use teamkeep_model::time;

/// Title and two messages.
const LEAST: usize = 3;

pub fn need(scene: Scene<'_>) -> Need {
    let count = scene.lists.messages.len();
    Need { least: (1 + count).min(LEAST), all: if count == 0 { 0 } else { 1 + count } }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let messages = &scene.lists.messages;
    let shown = match messages.len() == scene.moment.messages {
        true => count(messages.len(), "message"),
        false => format!("{} of {} match", messages.len(), count(scene.moment.messages, "message")),
    };
    let follows = if scene.state.selection.message.is_none() { "" } else { ", f: follow" };
    let heading = [bold("Messages "), dim(format!("{shown}{follows}"))];
    let area = title(frame, area, scene.has_focus(Panel::Messages), heading);
    let selected = scene.selected(Panel::Messages);
    // The end, or everything from the selected message on.
    let start = messages.len().saturating_sub(area.height.into()).min(selected);
    list(frame, area, start..messages.len(), scene.marked(Panel::Messages), |place, row| {
        scene.put_spot(row, Spot::Item(Subject::Message(messages[place])));
        message(&scene.recording.entries()[scene.recording.messages[messages[place]]])
    });
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
        MessageEvent::ShutdownRequested => (DIM, "shutdown request: "),
        MessageEvent::ShutdownApproved => (DIM, "approves its shutdown "),
        MessageEvent::ShutdownRejected => (YELLOW, "rejects its shutdown: "),
    };
    let text = message.summary.as_deref().unwrap_or(&message.text);
    vec![
        dim(format!("{} ", time::local(entry.at).format("%H:%M:%S"))),
        styled(name_style(&entry.actor), &entry.actor),
        dim(" → "),
        styled(name_style(to), to),
        plain("  "),
        styled(style, format!("{prefix}{}", first_line(text)).trim_end()),
    ]
}
