//! How much of each limit of the budget is used, and by whom.

use std::collections::BTreeMap;

use crate::spending::{Spending, Total};
use crate::{Case, MAX_LISTED, Reason};
use teamkeep_config::{Limit, LimitScope, Policy};
use teamkeep_model::time::{self, Timestamp};

/// The use of a limit.
pub(super) struct LimitUse<'a> {
    pub limit: &'a Limit,
    pub by: Subject<'a>,
    total: Total,
    /// The totals of the agents in it, largest first.
    parts: Vec<(&'a str, Total)>,
}

/// The messages that a use counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject<'a> {
    All,
    Agent(&'a str),
    /// A task, by its id.
    Task(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Below,
    Warns,
    Blocks,
}

/// The use of each limit in one line, such as `run: $3.10 of $25.00 (12%)`.
pub fn summaries(policy: &Policy, spending: &Spending, now: Timestamp) -> Vec<String> {
    uses(policy, spending, now)
        .map(|one| {
            let name = one.by.name().map(|name| format!(" {name}")).unwrap_or_default();
            let (spent, limit) = (one.spent(&one.total), amount(one.limit));
            format!("{}{name}: {spent} of {limit} ({}%)", one.limit.per.name(), one.percent())
        })
        .collect()
}

/// The uses of each limit, in the order of the configuration.
pub(super) fn uses<'a>(
    policy: &'a Policy,
    spending: &'a Spending,
    now: Timestamp,
) -> impl Iterator<Item = LimitUse<'a>> {
    policy.budget.limit.iter().flat_map(move |limit| match limit.per {
        LimitScope::Run => vec![LimitUse::of(limit, Subject::All, spending.by_agent())],
        LimitScope::Hour => vec![LimitUse::of(limit, Subject::All, spending.of_last_hour(now))],
        LimitScope::Agent => {
            let agents = spending.by_agent().into_iter();
            agents.map(|(name, total)| LimitUse::of_agent(limit, name, total)).collect()
        }
        LimitScope::Task => {
            let tasks = spending.by_task().into_iter();
            tasks.map(|(task, totals)| LimitUse::of(limit, Subject::Task(task), totals)).collect()
        }
    })
}

impl<'a> Subject<'a> {
    pub(super) fn name(self) -> Option<&'a str> {
        match self {
            Subject::All => None,
            Subject::Agent(name) | Subject::Task(name) => Some(name),
        }
    }
}

impl<'a> LimitUse<'a> {
    fn of(limit: &'a Limit, by: Subject<'a>, totals: BTreeMap<&'a str, Total>) -> LimitUse<'a> {
        let total = totals.values().fold(Total::default(), |sum, one| sum.plus(one));
        let mut parts: Vec<(&str, Total)> = totals.into_iter().collect();
        parts.sort_by(|(_, one), (_, other)| used(limit, other).total_cmp(&used(limit, one)));
        LimitUse { limit, by, total, parts }
    }

    fn of_agent(limit: &'a Limit, name: &'a str, total: Total) -> LimitUse<'a> {
        LimitUse { limit, by: Subject::Agent(name), total, parts: Vec::new() }
    }

    /// The used part of the limit, in percent.
    fn percent(&self) -> u64 {
        // Rounded down: 100 is shown only if the limit is reached.
        (used(self.limit, &self.total) * 100.0 + 1e-6) as u64
    }

    pub(super) fn level(&self) -> Level {
        let reaches = |at: Option<u32>| at.is_some_and(|at| self.percent() >= u64::from(at));
        match () {
            () if reaches(self.limit.block_at) => Level::Blocks,
            () if reaches(self.limit.warn_at) => Level::Warns,
            () => Level::Below,
        }
    }

    /// Adds the spent amount, the agents with most of it, the limit, and the messages that are not counted.
    pub(super) fn describe(&self, reason: Reason, case: &Case<'_>) -> Reason {
        let (spent, amount) = (self.spent(&self.total), amount(self.limit));
        let reason = match self.by {
            Subject::All => reason.then("the team"),
            Subject::Agent(name) => reason.name(name),
            Subject::Task(task) => reason.then("task ").name(task),
        };
        let when = if self.limit.per == LimitScope::Hour { " in the last hour" } else { "" };
        let mut reason = reason.then(&format!(" spent {spent} of {amount}{when} ({}%)", self.percent()));
        for (index, (name, total)) in self.parts.iter().take(MAX_LISTED).enumerate() {
            reason = reason.then(if index == 0 { ": " } else { ", " }).name(name);
            reason = reason.then(&format!(" {}", self.spent(total)));
        }
        let more = self.parts.len().saturating_sub(MAX_LISTED);
        reason = reason.then(&if more > 0 { format!(", {more} more.") } else { ".".to_owned() });
        let spending = &case.team.spending;
        if self.limit.tokens == 0 && self.total.unpriced > 0 {
            let count = self.total.unpriced;
            let plural = if count == 1 { "" } else { "s" };
            reason =
                reason.then(&format!(" Not counted: {count} message{plural} without a price for the model."));
        }
        if spending.unread > 0 {
            let unread = spending.unread.div_ceil(1 << 20);
            reason =
                reason.then(&format!(" Not counted: {unread} MiB of transcripts that are not read yet."));
        }
        match spending.last() {
            Some(at) => reason.then(&format!(
                " The transcripts end at {}; later messages are not counted.",
                time::moment(at)
            )),
            None => reason,
        }
    }

    fn spent(&self, total: &Total) -> String {
        if self.limit.tokens > 0 {
            grouped(total.tokens.new_tokens())
        } else {
            dollars(self.limit, total.usd)
        }
    }
}

/// The used share of a limit.
fn used(limit: &Limit, total: &Total) -> f64 {
    match limit.tokens {
        0 => total.usd / (limit.usd.max(1) as f64 / 1e6),
        tokens => total.tokens.new_tokens() as f64 / f64::from(tokens),
    }
}

pub(super) fn amount(limit: &Limit) -> String {
    match limit.tokens {
        0 => dollars(limit, limit.usd as f64 / 1e6),
        tokens => format!("{} tokens", grouped(tokens.into())),
    }
}

/// A small limit needs more digits.
fn dollars(limit: &Limit, usd: f64) -> String {
    if limit.usd < 1_000_000 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// With separators: `1,234,567`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
