//! Limits what the agents of a run spend. A limit blocks only what starts work: everything that continues, ends or hands over
//! work is allowed.

use std::collections::BTreeMap;
use teamkeep_model::words::{count, thousands};

use serde_json::Value;

use crate::observe::{Sent, idle_teammate};
use crate::spending::{Spending, Total};
use crate::{Case, Decision, Finding, JudgedEvent, MAX_LISTED, Reason, TeamState};
use teamkeep_config::{Gate, Limit, LimitScope, Mode, Policy};
use teamkeep_model::Tool;
use teamkeep_model::event::{Actor, ActorKind, LEAD};
use teamkeep_model::payload::{EventKind, MessageKind};
use teamkeep_model::time::{self, HOUR, Timestamp};

/// New work that an event starts.
#[derive(Debug, Clone, Copy)]
enum NewWork<'a> {
    /// A new agent, with its name if it is a teammate.
    Agent(Option<&'a str>),
    Task,
    /// A message to an idle teammate without a task in progress.
    Wake(&'a str),
}

/// Whether a hook call needs the run's spending.
pub fn needs_spending(policy: &Policy, case: &Case<'_>) -> bool {
    let event = &case.event;
    policy.budget.is_on()
        && match event.kind {
            EventKind::PreToolUse => Gate::Budget.judges(event.kind, event.payload.tool()),
            EventKind::TeammateIdle => policy.idle_with_work.mode == Mode::Block,
            EventKind::Stop => policy.lead_stops_early.mode == Mode::Block,
            _ => false,
        }
}

/// Records what later counts need: the names of the agents that have transcripts, and the states of the tasks.
pub fn observe(policy: &Policy, event: &JudgedEvent<'_>, team: &mut TeamState) {
    if !policy.budget.is_on() {
        return;
    }
    if let Actor { name: Some(name), id: Some(id), kind } = event.actor {
        match kind {
            ActorKind::Teammate => team.ledger.note_agent(id, name),
            // The note beside its transcript has only the role. Its tokens are not the member's.
            ActorKind::Subagent if team.members.contains(name) => {
                team.ledger.note_agent(id, &Actor::subagent_name(name));
            }
            _ => {}
        }
    }
    if changes_tasks(policy, event) && team.unread == 0 {
        team.note_tasks(event);
    }
}

/// Whether a limit is per task, and the event changes a task.
pub(super) fn changes_tasks(policy: &Policy, event: &JudgedEvent<'_>) -> bool {
    let changes = matches!(event.kind, EventKind::PreToolUse | EventKind::PostToolUse)
        && event.payload.tool() == Some(Tool::TaskUpdate);
    changes && policy.budget.counts_tasks()
}

/// One finding for each limit that the event exceeds; else, for the lead, one for each limit that warns.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    if !policy.budget.is_on() {
        return Vec::new();
    }
    let uses: Vec<LimitUse<'_>> =
        uses(policy, &case.team.spending, case.event.at).filter(|one| one.level() > Level::Below).collect();
    let mode = policy.budget.mode;
    let new_work = new_work(case).filter(|_| mode == Mode::Block);
    let blocking = new_work.and_then(|new_work| {
        let mut blocking =
            uses.iter().filter(|one| one.level() == Level::Blocks && one.by.concerns(case, new_work));
        blocking.next().map(|one| one.blocks(case, new_work))
    });
    if let Some(blocking) = blocking {
        return vec![blocking];
    }
    // Only the lead can end the work of the team. Before 2.1.69, it may be the agent that the call does not name.
    let may_be_lead = matches!(case.event.actor.kind, ActorKind::Lead | ActorKind::Unknown);
    uses.iter().filter(|_| may_be_lead).map(|one| one.warns(case, mode)).collect()
}

/// The mode of a gate that makes an agent continue with other work: it does not block beyond a limit that blocks new work.
pub(super) fn mode_of_more_work(policy: &Policy, case: &Case<'_>, mode: Mode) -> Mode {
    if mode != Mode::Block || policy.budget.mode != Mode::Block {
        return mode;
    }
    let agent = idle_teammate(&case.event).unwrap_or_else(|| case.actor());
    let concerns = |one: &LimitUse<'_>| matches!(one.by, Subject::All) || one.by == Subject::Agent(agent);
    let is_blocked = uses(policy, &case.team.spending, case.event.at)
        .any(|one| one.level() == Level::Blocks && concerns(&one));
    if is_blocked { Mode::Warn } else { mode }
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

/// The use of a limit.
struct LimitUse<'a> {
    pub limit: &'a Limit,
    pub by: Subject<'a>,
    total: Total,
    /// The totals of the agents in it, largest first.
    parts: Vec<(&'a str, Total)>,
}

/// The messages that a use counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject<'a> {
    All,
    Agent(&'a str),
    /// A task, by its id.
    Task(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
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
fn uses<'a>(
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
            let unpriced = count(self.total.unpriced, "message");
            reason = reason.then(&format!(" Not counted: {unpriced} without a price for the model."));
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
            thousands(total.tokens.new_tokens())
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
        tokens => format!("{} tokens", thousands(tokens)),
    }
}

/// A small limit needs more digits.
fn dollars(limit: &Limit, usd: f64) -> String {
    if limit.usd < 1_000_000 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

impl Subject<'_> {
    /// Whether its limit applies to this work. One per agent applies to what the agent starts and what starts it, one per task
    /// to what the agent starts that has the task in progress.
    fn concerns(self, case: &Case<'_>, new_work: NewWork<'_>) -> bool {
        match (self, new_work) {
            (Subject::All, _) => true,
            (Subject::Agent(agent), NewWork::Agent(name)) => case.actor() == agent || name == Some(agent),
            (Subject::Agent(agent), NewWork::Task) => case.actor() == agent,
            (Subject::Agent(agent), NewWork::Wake(name)) => name == agent,
            (Subject::Task(task), NewWork::Agent(_) | NewWork::Task) => {
                case.team.ledger.live.tasks.get(task).is_some_and(|task| task.holder() == Some(case.actor()))
            }
            (Subject::Task(_), NewWork::Wake(_)) => false,
        }
    }
}

impl LimitUse<'_> {
    fn blocks(&self, case: &Case<'_>, new_work: NewWork<'_>) -> Finding {
        let reason = Reason::default();
        let reason = match new_work {
            NewWork::Agent(Some(name)) => reason.then("starting agent ").name(name),
            NewWork::Agent(None) => reason.then("starting an agent"),
            NewWork::Task => reason.then("creating a task"),
            NewWork::Wake(name) => reason.then("waking ").name(name).then(", which is idle,"),
        };
        let instead = match case.event.actor.kind {
            ActorKind::Teammate | ActorKind::Subagent => {
                "Finish the work in progress and report to the lead. The user can raise the limit or pause the gate \"budget\"."
            }
            _ => {
                "Let the work in progress end, collect the results, and shut down the teammates that are done. Report the rest to the user, who can raise the limit or pause the gate \"budget\"."
            }
        };
        let reason = self.describe(reason.then(" beyond the budget: "), case).instead(instead);
        Finding::new(Gate::Budget, "budget-exhausted", Decision::Block, case.actor(), reason)
    }

    fn warns(&self, case: &Case<'_>, mode: Mode) -> Finding {
        let reason = self.describe(Reason::default(), case);
        let blocks = match self.by {
            Subject::Task(_) => "new agents and new tasks of its owner are blocked",
            _ => "new agents, new tasks and messages that wake an idle teammate are blocked",
        };
        let (level, block_at) = (self.level(), self.limit.block_at.filter(|_| mode == Mode::Block));
        let reason = match (level, block_at) {
            (_, None) => reason,
            (Level::Blocks, Some(_)) => reason.instead(&format!("From now on {blocks}.")),
            (_, Some(at)) => reason.instead(&format!("At {at}% {blocks}.")),
        };
        let code = if level == Level::Blocks { "budget-exhausted" } else { "budget-warning" };
        // Later in a sliding hour, the limit can be reached again.
        let period = match self.limit.per {
            LimitScope::Hour => case.event.at.millis() / HOUR.as_millis() as i64,
            LimitScope::Run | LimitScope::Agent | LimitScope::Task => 0,
        };
        let key = (self.limit.per.name(), self.by.name(), amount(self.limit), period);
        let once = Some(format!("{key:?} {code}"));
        Finding { once, ..Finding::new(Gate::Budget, code, Decision::Warn, case.actor(), reason) }
    }
}
