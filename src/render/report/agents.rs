//! Agents and messages.

use super::Listing;
use super::page::{Block, Table};
use super::sections::{UNKNOWN, when};
use crate::json;
use crate::render::format::{actor, count, first_line, strip_tags, thousands};
use crate::report::{MessageRow, Report, Role};

/// Each agent and its instances.
pub fn agents(report: &Report, listing: Listing) -> Vec<Block> {
    let start = &report.overview.started_at;
    let mut table = Table::of(&["name", "role", "first#", "last#", "turns#", "tools#", "id"]);
    let mut helpers = 0;
    for agent in &report.agents {
        for instance in &agent.instances {
            if instance.role == Role::Helper && !listing.all {
                helpers += 1;
                continue;
            }
            table.row([
                agent.name.clone(),
                json::serde_name(&instance.role).replace('-', " "),
                when(start, instance.first.as_deref()),
                when(start, instance.last.as_deref()),
                thousands(instance.turns as u64),
                instance.tool_uses.map_or_else(|| UNKNOWN.to_owned(), |uses| thousands(uses as u64)),
                instance.id.clone(),
            ]);
        }
    }
    let mut blocks = vec![Block::Table(table)];
    if helpers > 0 {
        blocks.push(Block::Line(format!(
            "and {} of Claude Code (list with --all)",
            count(helpers, "helper agent")
        )));
    }
    blocks
}

/// All messages, and the sums.
pub fn mail(report: &Report, listing: Listing) -> Vec<Block> {
    let start = &report.overview.started_at;
    let mut table = Table::of(&["when#", "from", "to", "kind", "chars#", "text"]);
    for letter in report.mail.messages.iter().filter(|letter| listing.all || !letter.automatic) {
        table.row([
            when(start, Some(&letter.at)),
            actor(&letter.from).to_owned(),
            recipient(&letter.to),
            letter.kind.clone(),
            thousands(letter.chars as u64),
            text(letter),
        ]);
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    if report.mail.by_sender.is_empty() {
        return vec![Block::Table(table)];
    }
    let mut senders = Table::of(&["from", "messages#", "chars#", ""]);
    for sender in &report.mail.by_sender {
        let numbers = [sender.messages, sender.chars].map(|number| thousands(number as u64));
        senders.row([sender.from.clone()].into_iter().chain(numbers).chain([String::new()]));
    }
    let mut pairs = Table::of(&["from", "to", "messages#", "chars#", ""]);
    for pair in &report.mail.by_pair {
        let numbers = [pair.messages, pair.chars].map(|number| thousands(number as u64));
        pairs.row([pair.from.clone(), recipient(&pair.to)].into_iter().chain(numbers).chain([String::new()]));
    }
    let sums = [Block::Line("Messages by sender".to_owned()), Block::Table(senders)];
    let by_pair = [Block::Line("Messages by sender and recipient".to_owned()), Block::Table(pairs)];
    [Block::Table(table)].into_iter().chain(sums).chain(by_pair).collect()
}

/// The recipient in words.
fn recipient(to: &str) -> String {
    if to == "*" { "everyone".to_owned() } else { to.to_owned() }
}

fn text(letter: &MessageRow) -> String {
    let text = first_line(letter.summary.as_deref().unwrap_or(&letter.text));
    match (&letter.refused, letter.delivered) {
        // The policy's reason is listed among the problems.
        (Some(_), _) if letter.is_blocked() => format!("{text} (blocked)"),
        (Some(why), _) => format!("{text} (rejected: {})", first_line(strip_tags(why))),
        (None, Some(false)) => format!("{text} (never read)"),
        _ => text,
    }
}
