//! The tokens and the cost of the model's messages, each counted once: by agent, by task and in a span of time, and the rate
//! of spending.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use super::tasks::TaskHistory;
use crate::timeline::{RunData, Timeline};
use teamkeep_config::Price;
use teamkeep_model::team::Tokens;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::Natural;
use teamkeep_policy::spending::{PriceList, Total};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    pub agents: Vec<ModelUsage>,
    pub unknown: Vec<String>,
    pub total: Option<Tokens>,
    /// The total cost in US dollars; `None` unless every model has a price.
    pub cost: Option<f64>,
    /// The models without a price.
    #[serde(default)]
    pub unpriced: Vec<String>,
    #[serde(default)]
    pub tasks: Vec<TaskUsage>,
    /// The messages that belong to no task; `None` if there are none.
    #[serde(default)]
    pub no_task: Option<RestUsage>,
    /// The sums over time, without messages of unknown time.
    #[serde(default)]
    pub curve: Vec<SpentUntil>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    pub agent: String,
    pub messages: usize,
    pub models: Vec<String>,
    pub tokens: Tokens,
    /// The cost; `None` unless each of the models has a price.
    pub cost: Option<f64>,
}

/// The messages of a task's owner while the task was in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskUsage {
    pub task: String,
    pub messages: usize,
    pub tokens: Tokens,
    pub cost: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RestUsage {
    pub messages: usize,
    pub tokens: Tokens,
    pub cost: Option<f64>,
}

/// What all agents had spent by a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpentUntil {
    pub at: Timestamp,
    /// Without those read from the cache.
    pub tokens: u64,
    /// In US dollars; `None` if a model has no price.
    pub cost: Option<f64>,
}

/// Number of points of the curve: a point sums as many messages as this takes.
const MAX_POINTS: usize = 500;

/// The messages of the model, each with its price.
pub(super) struct Spending<'a> {
    messages: Vec<Spent<'a>>,
}

struct Spent<'a> {
    agent: &'a str,
    /// The agent's id.
    id: &'a str,
    model: &'a str,
    /// The start in milliseconds, by teamkeep's clock.
    at: Option<i64>,
    tokens: Tokens,
    usd: Option<f64>,
}

fn total<'a>(messages: impl Iterator<Item = &'a Spent<'a>>) -> Total {
    Total::of(messages.map(|one| (one.tokens, one.usd)))
}

impl<'a> Spending<'a> {
    pub(super) fn of(case: &ReportInput<'a>, prices: &[Price]) -> Spending<'a> {
        let costs = case.data.transcripts.costs.values();
        let mut prices = PriceList::of(prices);
        let messages = costs.map(|cost| Spent {
            agent: &cost.transcript.by,
            id: &cost.transcript.agent,
            model: &cost.message.model,
            at: case.to_local(cost.message.at).map(|at| at.millis()),
            tokens: cost.message.tokens,
            usd: prices.cost(&cost.message),
        });
        Spending { messages: messages.collect() }
    }

    /// The tokens of an agent in these times, without those read from the cache, and their price in US dollars with them.
    /// `None` if the agent has no message.
    pub(super) fn spent(
        &self,
        agent: &str,
        times: impl IntoIterator<Item = (i64, i64)>,
    ) -> Option<(u64, Option<f64>)> {
        self.spent_by(|one| one.agent == agent, times)
    }

    /// The same for the agent with this id: a name can be of several agents.
    pub(super) fn spent_by_id(
        &self,
        id: &str,
        times: impl IntoIterator<Item = (i64, i64)>,
    ) -> Option<(u64, Option<f64>)> {
        self.spent_by(|one| one.id == id, times)
    }

    fn spent_by(
        &self,
        is_own: impl Fn(&Spent<'_>) -> bool,
        times: impl IntoIterator<Item = (i64, i64)>,
    ) -> Option<(u64, Option<f64>)> {
        let own = || self.messages.iter().filter(|one| is_own(one));
        own().next()?;
        let times = Vec::from_iter(times);
        let is_within = |at: i64| times.iter().any(|(from, to)| (*from..=*to).contains(&at));
        let total = total(own().filter(|one| one.at.is_some_and(is_within)));
        Some((total.tokens.new_tokens(), total.cost()))
    }

    pub(super) fn usage(&self, case: &ReportInput<'_>, tasks: &[TaskHistory]) -> TokenUsage {
        let names: BTreeSet<Natural<'_>> =
            case.data.transcripts.all.iter().map(|transcript| Natural(&transcript.by)).collect();
        let mut agents: Vec<ModelUsage> = names.iter().map(|name| self.of_agent(name.0)).collect();
        agents.sort_by_key(|spent| std::cmp::Reverse(spent.tokens.input.saturating_add(spent.tokens.output)));
        let known = || self.messages.iter().filter(|one| names.contains(&Natural(one.agent)));
        let total = total(known());
        let unpriced: BTreeSet<&str> = known().filter(|one| one.usd.is_none()).map(|one| one.model).collect();
        let is_known = !agents.is_empty();
        let all = [case.lead].into_iter().chain(case.teammates());
        let (tasks, no_task) = self.by_task(case, tasks);
        TokenUsage {
            agents,
            unknown: all.filter(|name| !case.has_transcript(name)).map(str::to_owned).collect(),
            total: is_known.then_some(total.tokens),
            cost: total.cost().filter(|_| total.messages > 0),
            unpriced: unpriced.into_iter().map(str::to_owned).collect(),
            tasks,
            no_task,
            curve: self.curve(),
        }
    }

    fn curve(&self) -> Vec<SpentUntil> {
        let mut timed: Vec<(i64, &Spent<'_>)> =
            self.messages.iter().filter_map(|one| Some((one.at?, one))).collect();
        timed.sort_by_key(|(at, _)| *at);
        let step = timed.len().div_ceil(MAX_POINTS).max(1);
        let points = timed.chunks(step).scan(Total::default(), |sum, messages| {
            *sum = sum.plus(&total(messages.iter().map(|(_, one)| *one)));
            let at = Timestamp::from_millis(messages.last()?.0)?;
            Some(SpentUntil { at, tokens: sum.tokens.new_tokens(), cost: sum.cost() })
        });
        points.collect()
    }

    fn of_agent(&self, name: &str) -> ModelUsage {
        let own = || self.messages.iter().filter(|one| one.agent == name);
        let models: BTreeSet<&str> = own().map(|one| one.model).collect();
        let total = total(own());
        let models = models.into_iter().map(str::to_owned).collect();
        let cost = total.cost().filter(|_| total.messages > 0);
        ModelUsage { agent: name.to_owned(), messages: total.messages, models, tokens: total.tokens, cost }
    }

    /// A message belongs to the task that its agent had in progress then; of several, to the one begun last.
    fn by_task<'b>(
        &'b self,
        case: &ReportInput<'_>,
        tasks: &'b [TaskHistory],
    ) -> (Vec<TaskUsage>, Option<RestUsage>) {
        let end = case.end.millis();
        let mut spans: BTreeMap<&str, Vec<(i64, i64, &str)>> = BTreeMap::new();
        for agent in self.messages.iter().map(|one| one.agent) {
            spans.entry(agent).or_insert_with(|| {
                let of_task = |task: &'b TaskHistory| {
                    let held = task.held_by(agent, end);
                    held.iter().map(|(from, to)| (from, to, task.id.as_str())).collect::<Vec<_>>()
                };
                let mut own: Vec<(i64, i64, &str)> = tasks.iter().flat_map(of_task).collect();
                own.sort_unstable();
                own
            });
        }
        let task_of = |one: &Spent<'_>| {
            let (at, own) = (one.at?, spans.get(one.agent)?);
            own.iter().rev().find(|(from, to, _)| (*from..*to).contains(&at)).map(|(_, _, task)| *task)
        };
        let mut by_task: BTreeMap<&str, Vec<&Spent<'_>>> = BTreeMap::new();
        let mut rest = Vec::new();
        for one in &self.messages {
            match task_of(one) {
                Some(task) => by_task.entry(task).or_default().push(one),
                None => rest.push(one),
            }
        }
        let with_messages = tasks.iter().filter_map(|task| Some((task, by_task.get(task.id.as_str())?)));
        let usage = with_messages.map(|(task, messages)| {
            let total = total(messages.iter().copied());
            let (messages, tokens, cost) = (total.messages, total.tokens, total.cost());
            TaskUsage { task: task.id.clone(), messages, tokens, cost }
        });
        let rest = total(rest.into_iter());
        let no_task = RestUsage { messages: rest.messages, tokens: rest.tokens, cost: rest.cost() };
        (usage.collect(), (rest.messages > 0).then_some(no_task))
    }
}

/// The time over which the rate is averaged, in minutes.
const WINDOW: i64 = 10;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurnRate {
    /// Tokens an hour, without those read from the cache.
    pub tokens: u64,
    /// US dollars an hour; `None` if a model has no price.
    pub usd: Option<f64>,
}

impl BurnRate {
    /// The rate over the ten minutes before that moment; `None` if no transcript has a message of the model then.
    pub fn at(data: &RunData, timeline: &Timeline, prices: &[Price], at: Timestamp) -> Option<BurnRate> {
        let from = at.checked_sub(TimeDelta::minutes(WINDOW))?;
        let is_recent = |sent: Timestamp| from < sent && sent <= at;
        let sent_at = |sent: Option<Timestamp>| sent.map(|sent| timeline.when.to_local(sent));
        let costs = data.transcripts.costs.values();
        let mut recent = costs.filter(|cost| sent_at(cost.message.at).is_some_and(is_recent)).peekable();
        recent.peek()?;
        let mut prices = PriceList::of(prices);
        let total = Total::of(recent.map(|cost| (cost.message.tokens, prices.cost(&cost.message))));
        let an_hour = (60 / WINDOW) as u64;
        let tokens = total.tokens.new_tokens().saturating_mul(an_hour);
        Some(BurnRate { tokens, usd: total.cost().map(|usd| usd * an_hour as f64) })
    }
}
