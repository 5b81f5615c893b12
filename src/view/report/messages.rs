//! The messages of a report, and their sums.

use super::when;
use crate::report::{MessageRow, MessageStats};
use crate::view::document::{Document, Table};
use crate::view::format::{actor, first_line, strip_tags, thousands};

/// The messages, and the sums by sender and recipient. `all` also lists automatic ones.
pub fn messages(messages: &MessageStats, start: &str, all: bool) -> Document {
    let mut document = Document::default();
    let mut table = Table::of(&["when#", "from", "to", "kind", "chars#", "text"]);
    for message in messages.messages.iter().filter(|message| all || !message.automatic) {
        table.row([
            when(start, Some(&message.at)),
            actor(&message.from).to_owned(),
            recipient(&message.to),
            message.kind.clone(),
            thousands(message.chars),
            text(message),
        ]);
    }
    if table.rows.is_empty() {
        return document;
    }
    document.table(table);
    if messages.by_sender.is_empty() {
        return document;
    }
    let numbers = |count: usize, chars: usize| [thousands(count), thousands(chars), String::new()];
    let mut senders = Table::of(&["from", "messages#", "chars#", ""]);
    for sender in &messages.by_sender {
        senders.row([sender.from.clone()].into_iter().chain(numbers(sender.messages, sender.chars)));
    }
    document.paragraph("Messages by sender");
    document.table(senders);
    let mut pairs = Table::of(&["from", "to", "messages#", "chars#", ""]);
    for pair in &messages.by_pair {
        let names = [pair.from.clone(), recipient(&pair.to)];
        pairs.row(names.into_iter().chain(numbers(pair.messages, pair.chars)));
    }
    document.paragraph("Messages by sender and recipient");
    document.table(pairs);
    document
}

fn recipient(to: &str) -> String {
    if to == "*" { "everyone".to_owned() } else { to.to_owned() }
}

fn text(message: &MessageRow) -> String {
    let text = first_line(message.summary.as_deref().unwrap_or(&message.text));
    match (&message.refused, message.delivered) {
        // The policy's reason is listed among the problems.
        (Some(_), _) if message.is_blocked() => format!("{text} (blocked)"),
        (Some(why), _) => format!("{text} (rejected: {})", first_line(strip_tags(why))),
        (None, Some(false)) => format!("{text} (never read)"),
        _ => text,
    }
}
