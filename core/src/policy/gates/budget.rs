//! Limits what the agents of a run spend. A limit blocks only what starts work: everything that continues, ends or hands over
//! work is allowed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::client::payload::{Kind, MessageKind};
use crate::config::{Gate, Limit, LimitScope, Mode, Policy};
use crate::model::Tool;
use crate::model::event::{ActorKind, LEAD};
use crate::policy::observe::{Sent, idler};
use crate::policy::{Case, Decision, Finding, Reason};
use crate::spending::{Spending, Total};
use crate::sys::clock::{self, Timestamp};

/// The number of agents that a reason names.
const MAX_AGENTS: usize = 3;

const HOUR_MS: i64 = 3_600_000;

/// New work that an event starts.
#[derive(Debug, Clone, Copy)]
enum NewWork<'a> {
    /// A new agent, with its name if it is a teammate.
    Agent(Option<&'a str>),
    Task,
    /// A message to an idle teammate without a task in progress.
    Wake(&'a str),
}

/// The use of a limit.
struct Use<'a> {
    limit: &'a Limit,
    /// The agent, if the limit is per agent.
    agent: Option<&'a str>,
    total: Total,
    /// The totals of the agents in it.
    parts: Vec<(&'a str, Total)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Below,
    Warns,
    Blocks,
}

/// The hook call needs the run's spending.
pub fn needs_spending(policy: &Policy, case: &Case<'_>) -> bool {
    let event = &case.event;
    policy.budget.is_on()
        && match event.kind {
            Kind::PreToolUse => {
                let tools = Gate::Budget.event().map(|(_, tools)| tools);
                event.payload.tool().zip(tools).is_some_and(|(tool, tools)| tools.contains(&tool))
            }
            Kind::TeammateIdle => policy.idle_with_work.mode == Mode::Block,
            Kind::Stop => policy.lead_stops_early.mode == Mode::Block,
            _ => false,
        }
}

/// One finding for each limit that the event exceeds; else, for the lead, one for each limit that warns.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    if !needs_spending(policy, case) || case.event.kind != Kind::PreToolUse {
        return Vec::new();
    }
    let uses: Vec<Use<'_>> =
        uses(policy, &case.team.spending, case.event.at).filter(|one| one.level() > Level::Below).collect();
    let mode = policy.budget.mode;
    let new_work = new_work(case).filter(|_| mode == Mode::Block);
    let blocking = new_work.and_then(|new_work| {
        let mut blocking =
            uses.iter().filter(|one| one.level() == Level::Blocks && one.concerns(case, new_work));
        blocking.next().map(|one| one.blocks(case, new_work))
    });
    if let Some(blocking) = blocking {
        return vec![blocking];
    }
    // Only the lead can end the work of the team.
    let is_lead = case.event.actor.kind == ActorKind::Lead;
    uses.iter().filter(|_| is_lead).map(|one| one.warns(case, mode)).collect()
}

/// Whether the result depends on the team's tasks: only an idle teammate without work is woken.
pub fn needs_tasks(policy: &Policy, case: &Case<'_>) -> bool {
    policy.budget.is_on()
        && policy.budget.mode == Mode::Block
        && matches!(new_work(case), Some(NewWork::Wake(_)))
        && uses(policy, &case.team.spending, case.event.at).any(|one| one.level() == Level::Blocks)
}

/// The mode of a gate that makes an agent continue with other work: it does not block beyond a limit that blocks new work.
pub(super) fn mode_of_more_work(policy: &Policy, case: &Case<'_>, mode: Mode) -> Mode {
    let budget = &policy.budget;
    if mode != Mode::Block || !budget.is_on() || budget.mode != Mode::Block {
        return mode;
    }
    let agent = idler(&case.event).unwrap_or_else(|| case.actor());
    let concerns = |one: &Use<'_>| one.agent.is_none_or(|name| name == agent);
    let is_blocked = uses(policy, &case.team.spending, case.event.at)
        .any(|one| one.level() == Level::Blocks && concerns(&one));
    if is_blocked { Mode::Warn } else { mode }
}

/// The use of each limit in one line, such as `run: $3.10 of $25.00 (12%)`.
pub fn summaries(policy: &Policy, spending: &Spending, now: Timestamp) -> Vec<String> {
    uses(policy, spending, now)
        .map(|one| {
            let agent = one.agent.map(|agent| format!(" {agent}")).unwrap_or_default();
            let (spent, limit) = (one.spent(&one.total), one.limit.amount());
            format!("{}{agent}: {spent} of {limit} ({}%)", one.limit.per.word(), one.percent())
        })
        .collect()
}

fn new_work<'a>(case: &Case<'a>) -> Option<NewWork<'a>> {
    let event = &case.event;
    if event.calls(Tool::Agent) {
        let name = event.payload.tool_input().get("name").and_then(Value::as_str);
        return Some(NewWork::Agent(name.filter(|name| !name.is_empty())));
    }
    if event.calls(Tool::TaskCreate) {
        return Some(NewWork::Task);
    }
    if !event.calls(Tool::SendMessage) {
        return None;
    }
    let sent = Sent::of(event.payload)?.message;
    if sent.kind != MessageKind::Plain {
        return None;
    }
    // A message to everyone wakes no one in particular: it is how a lead ends the work of all.
    let to = sent.to.filter(|to| to != "*")?;
    let name = case.member(&to).filter(|name| *name != LEAD)?;
    let activity = case.team.ledger.of(name);
    let waits = activity.awaits_answer_from().next().is_some();
    let is_idle = activity.idle.is_some() && !activity.stopping && !waits;
    (is_idle && !case.works(name)).then_some(NewWork::Wake(name))
}

/// The uses of each limit, in the order of the configuration.
fn uses<'a>(policy: &'a Policy, spending: &'a Spending, now: Timestamp) -> impl Iterator<Item = Use<'a>> {
    policy.budget.limit.iter().flat_map(move |limit| {
        let totals = match limit.per {
            LimitScope::Hour => spending.of_last_hour(now),
            LimitScope::Run | LimitScope::Agent => spending.by_agent(),
        };
        match limit.per {
            LimitScope::Agent => Use::of_each(limit, totals),
            LimitScope::Run | LimitScope::Hour => vec![Use::of_all(limit, totals)],
        }
    })
}

impl<'a> Use<'a> {
    fn of_each(limit: &'a Limit, totals: BTreeMap<&'a str, Total>) -> Vec<Use<'a>> {
        let each = totals.into_iter();
        each.map(|(name, total)| Use { limit, agent: Some(name), total, parts: Vec::new() }).collect()
    }

    fn of_all(limit: &'a Limit, totals: BTreeMap<&'a str, Total>) -> Use<'a> {
        let total = totals.values().fold(Total::default(), |sum, one| sum.plus(one));
        let mut parts: Vec<(&str, Total)> = totals.into_iter().collect();
        parts.sort_by(|(_, one), (_, other)| limit.used(other).total_cmp(&limit.used(one)));
        Use { limit, agent: None, total, parts }
    }

    /// The used part of the limit, in percent.
    fn percent(&self) -> u64 {
        // Rounded down: 100 is shown only if the limit is reached.
        (self.limit.used(&self.total) * 100.0 + 1e-6) as u64
    }

    fn level(&self) -> Level {
        let reaches = |at: Option<u32>| at.is_some_and(|at| self.percent() >= u64::from(at));
        match () {
            () if reaches(self.limit.block_at) => Level::Blocks,
            () if reaches(self.limit.warn_at) => Level::Warns,
            () => Level::Below,
        }
    }

    /// Whether the limit applies to this work: one per agent applies to what the agent starts and what starts it.
    fn concerns(&self, case: &Case<'_>, new_work: NewWork<'_>) -> bool {
        let Some(agent) = self.agent else { return true };
        match new_work {
            NewWork::Agent(name) => case.actor() == agent || name == Some(agent),
            NewWork::Task => case.actor() == agent,
            NewWork::Wake(name) => name == agent,
        }
    }

    fn blocks(&self, case: &Case<'_>, new_work: NewWork<'_>) -> Finding {
        let reason = Reason::of(Mode::Block);
        let reason = match new_work {
            NewWork::Agent(Some(name)) => reason.then("starting agent ").name(name),
            NewWork::Agent(None) => reason.then("starting an agent"),
            NewWork::Task => reason.then("creating a task"),
            NewWork::Wake(name) => reason.then("waking ").name(name).then(", which is idle,"),
        };
        let reason = self.describe(reason.then(" beyond the budget: "), case).instead(
            "Let the work in progress end, collect the results, and shut down the teammates that are done. Report the rest to the user, who can raise the limit or pause the gate \"budget\".",
        );
        Finding::new(Gate::Budget, "budget-exhausted", Decision::Block, case.actor(), reason.finish())
    }

    fn warns(&self, case: &Case<'_>, mode: Mode) -> Finding {
        let reason = self.describe(Reason::of(Mode::Warn), case);
        let blocks = "new agents, new tasks and messages that wake an idle teammate are blocked";
        let (level, block_at) = (self.level(), self.limit.block_at.filter(|_| mode == Mode::Block));
        let reason = match (level, block_at) {
            (_, None) => reason,
            (Level::Blocks, Some(_)) => reason.instead(&format!("From now on {blocks}.")),
            (_, Some(at)) => reason.instead(&format!("At {at}% {blocks}.")),
        };
        let code = if level == Level::Blocks { "budget-exhausted" } else { "budget-warning" };
        // Later in a sliding hour, the limit can be reached again.
        let period = match self.limit.per {
            LimitScope::Hour => case.event.at.millis() / HOUR_MS,
            LimitScope::Run | LimitScope::Agent => 0,
        };
        let key = (self.limit.per.word(), self.agent, self.limit.amount(), period);
        let once = Some(format!("{key:?} {code}"));
        Finding { once, ..Finding::new(Gate::Budget, code, Decision::Warn, case.actor(), reason.finish()) }
    }

    /// The spent amount, the agents with most of it, the limit, and the messages that are not counted.
    fn describe(&self, reason: Reason, case: &Case<'_>) -> Reason {
        let (spent, amount) = (self.spent(&self.total), self.limit.amount());
        let reason = match self.agent {
            Some(agent) => reason.name(agent),
            None => reason.then("the team"),
        };
        let when = if self.limit.per == LimitScope::Hour { " in the last hour" } else { "" };
        let mut reason = reason.then(&format!(" spent {spent} of {amount}{when} ({}%)", self.percent()));
        for (index, (name, total)) in self.parts.iter().take(MAX_AGENTS).enumerate() {
            reason = reason.then(if index == 0 { ": " } else { ", " }).name(name);
            reason = reason.then(&format!(" {}", self.spent(total)));
        }
        let more = self.parts.len().saturating_sub(MAX_AGENTS);
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
                clock::moment(at)
            )),
            None => reason,
        }
    }

    fn spent(&self, total: &Total) -> String {
        if self.limit.tokens > 0 { grouped(total.tokens) } else { self.limit.dollars(total.usd) }
    }
}

impl Limit {
    fn used(&self, total: &Total) -> f64 {
        match self.tokens {
            0 => total.usd / (self.usd.max(1) as f64 / 1e6),
            tokens => total.tokens as f64 / f64::from(tokens),
        }
    }

    fn amount(&self) -> String {
        match self.tokens {
            0 => self.dollars(self.usd as f64 / 1e6),
            tokens => format!("{} tokens", grouped(tokens.into())),
        }
    }

    /// A small limit needs more digits.
    fn dollars(&self, usd: f64) -> String {
        if self.usd < 1_000_000 { format!("${usd:.4}") } else { format!("${usd:.2}") }
    }
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
