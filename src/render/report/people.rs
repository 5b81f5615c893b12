//! Who acted, and who said what to whom.

use super::Listing;
use super::page::{Block, Table};
use super::sections::{UNKNOWN, when};
use crate::json;
use crate::policy::bare;
use crate::render::words::{count, first_line, untagged};
use crate::report::{Letter, Report, Role};

/// Each agent's lives.
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
                json::word(&instance.role).replace('-', " "),
                when(start, instance.first.as_deref()),
                when(start, instance.last.as_deref()),
                instance.turns.to_string(),
                instance.tool_uses.map_or_else(|| UNKNOWN.to_owned(), |uses| uses.to_string()),
                instance.id.clone(),
            ]);
        }
    }
    let mut blocks = vec![Block::Table(table)];
    if helpers > 0 {
        blocks.push(Block::Line(format!("and {} of the client", count(helpers, "helper"))));
    }
    blocks
}

/// Every message, and the sums.
pub fn mail(report: &Report, listing: Listing) -> Vec<Block> {
    let start = &report.overview.started_at;
    let mut table = Table::of(&["when#", "from", "to", "kind", "chars#", "said"]);
    for letter in report.mail.messages.iter().filter(|letter| listing.all || !letter.automatic) {
        table.row([
            when(start, Some(&letter.at)),
            letter.from.clone(),
            if letter.to == "*" { "everybody".to_owned() } else { letter.to.clone() },
            letter.kind.clone(),
            letter.chars.to_string(),
            said(letter),
        ]);
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let mut senders = Table::of(&["from", "messages#", "chars#", ""]);
    for sender in &report.mail.by_sender {
        let numbers = [sender.messages.to_string(), sender.chars.to_string()];
        senders.row([sender.from.clone()].into_iter().chain(numbers).chain([String::new()]));
    }
    let mut pairs = Table::of(&["from", "to", "messages#", "chars#", ""]);
    for pair in &report.mail.by_pair {
        let numbers = [pair.messages.to_string(), pair.chars.to_string()];
        pairs.row([pair.from.clone(), pair.to.clone()].into_iter().chain(numbers).chain([String::new()]));
    }
    let sums = [Block::Line("by sender".to_owned()), Block::Table(senders)];
    let by_pair = [Block::Line("by sender and recipient".to_owned()), Block::Table(pairs)];
    [Block::Table(table)].into_iter().chain(sums).chain(by_pair).collect()
}

fn said(letter: &Letter) -> String {
    let said = first_line(letter.summary.as_deref().unwrap_or(&letter.text));
    match (&letter.refused, letter.delivered) {
        // The policy's reason stands among the findings.
        (Some(why), _) if bare(why) != why => format!("{said} (held back)"),
        (Some(why), _) => format!("{said} (refused: {})", first_line(untagged(why))),
        (None, Some(false)) => format!("{said} (never read)"),
        _ => said,
    }
}
