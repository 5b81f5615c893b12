//! The tables about the parts of a run: agents, turns, tasks, messages, tools, verdicts, incidents, usage of models.

use std::collections::{BTreeMap, HashMap};

use teamkeep_history::report::{self, TaskHistory, Turn};
use teamkeep_history::timeline::Entry;
use teamkeep_model::time::Timestamp;
use teamkeep_model::{TaskStatus, TraceParent};
use teamkeep_policy::Decision;

use super::Table;
use super::runs::{Row, clamp, count};
use crate::privacy::Texts;

/// A name that an agent has, with its working time.
#[derive(Debug)]
pub struct AgentFacts<'a> {
    pub agent: &'a report::Agent,
    pub person: Option<&'a report::Person>,
    pub time: Option<&'a report::TimePerAgent>,
    /// The ids of its instances.
    pub ids: Vec<String>,
}

pub type AgentRow<'a> = Row<'a, AgentFacts<'a>>;

pub fn agents<'a>() -> Table<AgentRow<'a>> {
    run_table!("agents", "a name in a run, and the agents that had it", |row: &AgentRow<'a>| {
        Text "agent" "name of the agent" = Some(&row.item.agent.name);
        Text "kind" "`lead`, `teammate`, `subagent`, `helper` or `unknown`" = Some(row.item.agent.kind.name());
        Texts "agent_ids" "IDs of the agents and sessions with this name" = &row.item.ids;
        Text "type" "role of the agent" = row.item.person?.agent_type.as_deref();
        Text "model" "model in the team's configuration" = row.item.person?.model.as_deref();
        Time "time" "when it joined the team" = row.item.person?.joined_at;
        Time "left_at" "when it left the team" = row.item.person?.left_at;
        Integer "turns" "number of its turns" = count(row.item.time?.turns);
        Integer "working_ms" "time in turns in which it was not stalled" = row.item.time?.working_ms;
        Integer "waiting_ms" "time outside of turns in which it depended on another agent"
            = row.item.time?.waiting_ms;
        Integer "idle_ms" "all other time outside of turns" = row.item.time?.idle_ms;
    })
}

/// A task, with the tokens that its owner used while it was in progress.
#[derive(Debug)]
pub struct TaskFacts<'a> {
    pub task: &'a report::TaskHistory,
    pub usage: Option<&'a report::TaskUsage>,
}

pub type TaskRow<'a> = Row<'a, TaskFacts<'a>>;

pub fn tasks<'a>() -> Table<TaskRow<'a>> {
    run_table!("tasks", "a task of a run", |row: &TaskRow<'a>| {
        Text "task" "ID of the task" = Some(&row.item.task.id);
        Text "status" "last status; `deleted` if an agent deleted it" = Some(row.item.task.status.as_str());
        Text "owner" "last owner" = row.item.task.owner.as_deref();
        Text "subject" "only with `redacted` and `full`" = row.item.task.subject.as_deref();
        Texts "blocked_by" "IDs of the tasks that it depends on" = &row.item.task.blocked_by;
        Time "time" "first recorded change" = row.item.task.changes.first().map(|change| change.at);
        Time "changed_at" "last recorded change" = row.item.task.changes.last().map(|change| change.at);
        Time "removed_at" "when its file was removed" = row.item.task.removed_at;
        Integer "changes" "number of changes" = count(row.item.task.changes.len());
        Integer "model_messages" "messages of the model for it" = count(row.item.usage?.messages);
        Integer "input_tokens" "without cached ones" = Some(clamp(row.item.usage?.tokens.input));
        Integer "output_tokens" "written by the models" = Some(clamp(row.item.usage?.tokens.output));
        Integer "cache_read_tokens" "read from the prompt cache" = Some(clamp(row.item.usage?.tokens.cache_read));
        Integer "cache_write_tokens" "written to the prompt cache"
            = Some(clamp(row.item.usage?.tokens.cache_write));
        Float "cost_usd" "in US dollars; null if a model has no price" = row.item.usage?.cost;
    })
}

/// A message and its position in the run.
#[derive(Debug)]
pub struct MessageFacts<'a> {
    pub number: usize,
    pub message: &'a report::MessageRow,
}

pub type MessageRow<'a> = Row<'a, MessageFacts<'a>>;

pub fn messages<'a>() -> Table<MessageRow<'a>> {
    run_table!("messages", "a message of a run", |row: &MessageRow<'a>| {
        Integer "number" "position in the run, from 0" = count(row.item.number);
        Time "time" "when it was sent" = Some(row.item.message.at);
        Text "sender" "name of the agent; `client` for Claude Code" = Some(&row.item.message.from);
        Text "recipient" "name of the agent; `*` for all" = Some(&row.item.message.to);
        Text "kind" "kind of message" = Some(&row.item.message.kind);
        Flag "automatic" "whether Claude Code sent it" = Some(row.item.message.automatic);
        Flag "delivered" "whether the recipient read it; null if unknown" = row.item.message.delivered;
        Flag "refused" "whether it was not sent" = Some(row.item.message.refused.is_some());
        Flag "blocked" "whether a gate or rule of teamkeep blocked it" = Some(row.item.message.blocked);
        Integer "chars" "length of the text" = count(row.item.message.chars);
        Text "summary" "only with `redacted` and `full`" = row.item.message.summary.as_deref();
        Text "text" "only with `redacted` and `full`"
            = Some(row.item.message.text.as_str()).filter(|text| !text.is_empty());
    })
}

/// The calls of one tool by one agent.
#[derive(Debug)]
pub struct ToolFacts<'a> {
    pub agent: &'a str,
    pub tool: &'a str,
    pub calls: usize,
    /// `None` without a transcript.
    pub failed: Option<usize>,
}

pub type ToolRow<'a> = Row<'a, ToolFacts<'a>>;

pub fn tools<'a>() -> Table<ToolRow<'a>> {
    run_table!("tools", "a tool that an agent called in a run", |row: &ToolRow<'a>| {
        Text "agent" "name of the agent" = Some(row.item.agent);
        Text "tool" "name of the tool" = Some(row.item.tool);
        Integer "calls" "number of calls" = count(row.item.calls);
        Integer "failed" "failed or denied calls; null without a transcript" = count(row.item.failed?);
    })
}

/// A verdict of a gate or rule on an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictFacts {
    /// Its position in the run.
    pub number: usize,
    pub at: Timestamp,
    pub agent: String,
    pub decision: Decision,
    /// The gate, or the user's rule.
    pub gate: String,
    /// Empty without texts.
    pub reason: String,
    /// The id of the judged event.
    pub event: String,
    /// Number of blocks before the loop guard allowed the action; `None` otherwise.
    pub blocks: Option<usize>,
    /// Whether a pause changed the decision.
    pub paused: bool,
    /// Whether the same warning was already shown.
    pub repeated: bool,
}

impl VerdictFacts {
    /// The verdicts among the entries of a timeline, in order.
    pub fn of(entries: &[Entry], texts: &Texts) -> Vec<VerdictFacts> {
        let verdicts = entries.iter().filter_map(|entry| Some((entry, entry.verdict()?)));
        let facts = verdicts.enumerate().map(|(number, (entry, verdict))| VerdictFacts {
            number,
            at: entry.at,
            agent: entry.actor.clone(),
            decision: verdict.decision,
            gate: verdict.gate.clone(),
            reason: texts.text(&verdict.text).unwrap_or_default().into_owned(),
            event: verdict.judged_event.clone(),
            blocks: verdict.blocks,
            paused: verdict.paused,
            repeated: verdict.repeated,
        });
        facts.collect()
    }
}

pub type VerdictRow<'a> = Row<'a, VerdictFacts>;

pub fn verdicts<'a>() -> Table<VerdictRow<'a>> {
    run_table!("verdicts", "a verdict of the policy on an event of a run", |row: &VerdictRow<'a>| {
        Integer "number" "position in the run, from 0" = count(row.item.number);
        Time "time" "when the event happened" = Some(row.item.at);
        Text "agent" "name of the agent that acted" = Some(&row.item.agent);
        Text "decision" "`block`, `warn` or `allow`"
            = Some(match row.item.decision {Decision::Allow => "allow",Decision::Warn => "warn",Decision::Block => "block",});
        Text "gate" "the gate, or for a rule `rule NAME`" = Some(&row.item.gate);
        Text "event" "`id` of the judged event" = Some(&row.item.event);
        Integer "blocks" "blocks that the loop guard had counted when it allowed this"
            = count(row.item.blocks?);
        Flag "paused" "whether a pause or an allowance allowed it" = Some(row.item.paused);
        Flag "repeated" "whether the same warning was already shown" = Some(row.item.repeated);
        Text "reason" "only with `redacted` and `full`"
            = Some(row.item.reason.as_str()).filter(|text| !text.is_empty());
    })
}

/// An incident and the names of its kind and severity.
#[derive(Debug)]
pub struct IncidentFacts<'a> {
    pub incident: &'a report::Incident,
    pub kind: String,
    pub severity: String,
}

pub type IncidentRow<'a> = Row<'a, IncidentFacts<'a>>;

pub fn incidents<'a>() -> Table<IncidentRow<'a>> {
    run_table!("incidents", "something that went wrong in a run", |row: &IncidentRow<'a>| {
        Text "incident" "ID of the incident" = Some(&row.item.incident.id);
        Text "kind" "kind of incident" = Some(&row.item.kind);
        Text "severity" "`low`, `medium` or `high`" = Some(&row.item.severity);
        Texts "agents" "names of the agents, the cause first" = &row.item.incident.agents;
        Texts "task_ids" "IDs of the tasks" = &row.item.incident.tasks;
        Time "time" "its start" = Some(row.item.incident.from);
        Time "ended_at" "its end; null if it lasted to the end of the run" = row.item.incident.to;
        Integer "seconds" "how long it lasted" = Some(clamp(row.item.incident.cost.seconds));
        Integer "tasks_lost" "tasks that were never completed because of it"
            = count(row.item.incident.cost.tasks_lost);
        Integer "tokens" "tokens that it made useless; null if unknown" = row.item.incident.cost.tokens.map(clamp);
        Float "cost_usd" "their price in US dollars; null if unknown" = row.item.incident.cost.usd;
        Text "summary" "only with `redacted` and `full`"
            = Some(row.item.incident.summary.as_str()).filter(|text| !text.is_empty());
    })
}

pub type UsageRow<'a> = Row<'a, report::ModelUsage>;

pub fn usage<'a>() -> Table<UsageRow<'a>> {
    run_table!("usage", "the tokens that an agent used in a run, by its transcript", |row: &UsageRow<'a>| {
        Text "agent" "name of the agent" = Some(&row.item.agent);
        Texts "models" "names of the models" = &row.item.models;
        Integer "model_messages" "messages of the models" = count(row.item.messages);
        Integer "input_tokens" "without cached ones" = Some(clamp(row.item.tokens.input));
        Integer "output_tokens" "written by the models" = Some(clamp(row.item.tokens.output));
        Integer "cache_read_tokens" "read from the prompt cache" = Some(clamp(row.item.tokens.cache_read));
        Integer "cache_write_tokens" "written to the prompt cache" = Some(clamp(row.item.tokens.cache_write));
        Float "cost_usd" "in US dollars; null if a model has no price" = row.item.cost;
    })
}

/// A hook call in a span of Claude Code's own telemetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCall {
    pub span: TraceParent,
    pub at: Timestamp,
    pub session: Option<String>,
    /// The name of the agent that acted.
    pub agent: Option<String>,
}

/// A turn with its times, the tasks in progress in it, and the calls of Claude Code's own telemetry. A turn without a recorded end
/// lasted to the end of the run.
#[derive(Debug)]
pub struct TurnFacts<'a> {
    turn: &'a Turn,
    from: Timestamp,
    to: Timestamp,
    tasks: Vec<String>,
    client_spans: Vec<String>,
}

pub type TurnRow<'a> = Row<'a, TurnFacts<'a>>;

pub fn turns<'a>() -> Table<TurnRow<'a>> {
    run_table!("turns", "a turn of an agent in a run", |row: &TurnRow<'a>| {
        Text "agent" "name of the agent" = Some(&row.item.turn.agent);
        Text "agent_id" "ID of the agent; of a lead and of a teammate in a pane, the session ID"
            = row.item.turn.instance.as_deref();
        Time "time" "start of the turn" = Some(row.item.from);
        Time "ended_at" "end of the turn; of one without an end, that of the run" = Some(row.item.to);
        Texts "task_ids" "IDs of the tasks that the agent had in progress" = &row.item.tasks;
        Texts "client_spans" "trace contexts of Claude Code's own telemetry in which hooks were called"
            = &row.item.client_spans;
    })
}

impl<'a> TurnFacts<'a> {
    /// The turns of a run that ended then. `calls` are in the order of their times.
    pub fn of(
        turns: &'a [Turn],
        tasks: &[TaskHistory],
        calls: &[ClientCall],
        ended_at: Timestamp,
    ) -> Vec<TurnFacts<'a>> {
        let in_progress = TimesInProgress::of(tasks, ended_at);
        let mut next_starts: HashMap<&str, Timestamp> = HashMap::new();
        let facts = |turn: &'a Turn| {
            let to = turn.to.unwrap_or(ended_at);
            let from = turn.from.unwrap_or(to).min(to);
            let next = next_starts.insert(&turn.agent, from);
            TurnFacts {
                turn,
                from,
                to,
                tasks: in_progress.during(&turn.agent, from, to),
                client_spans: client_spans(turn, calls, from, next),
            }
        };
        let mut all: Vec<TurnFacts<'a>> = turns.iter().rev().map(facts).collect();
        all.reverse();
        all
    }
}

/// The spans of the calls that the agent made until its next turn, each once: a session calls its last hook after the end of
/// its last turn. A call without an agent belongs to its session.
fn client_spans(turn: &Turn, calls: &[ClientCall], from: Timestamp, next: Option<Timestamp>) -> Vec<String> {
    let begin = calls.partition_point(|call| call.at < from);
    let end = calls.partition_point(|call| next.is_none_or(|next| call.at < next));
    let is_own = |call: &&ClientCall| match &call.agent {
        Some(agent) => *agent == turn.agent,
        None => call.session.is_some() && call.session == turn.instance,
    };
    let mut spans: Vec<String> = Vec::new();
    for call in calls.get(begin..end).unwrap_or_default().iter().filter(is_own) {
        if spans.iter().all(|known| known != call.span.as_str()) {
            spans.push(call.span.as_str().to_owned());
        }
    }
    spans
}

/// The tasks that each agent had in progress, each with begin and end.
struct TimesInProgress<'a>(BTreeMap<&'a str, Vec<(&'a str, Timestamp, Timestamp)>>);

impl<'a> TimesInProgress<'a> {
    fn of(tasks: &'a [TaskHistory], ended_at: Timestamp) -> TimesInProgress<'a> {
        let mut times: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for TaskHistory { id, changes, .. } in tasks {
            let until = changes.iter().skip(1).map(|change| change.at).chain([ended_at]);
            for (change, until) in changes.iter().zip(until) {
                if let (Some(TaskStatus::InProgress), Some(owner)) = (&change.to, &change.owner) {
                    let owner = owner.split('@').next().unwrap_or(owner);
                    times.entry(owner).or_default().push((id.as_str(), change.at, until));
                }
            }
        }
        TimesInProgress(times)
    }

    fn during(&self, agent: &str, from: Timestamp, to: Timestamp) -> Vec<String> {
        let mut tasks: Vec<String> = Vec::new();
        for (task, begin, end) in self.0.get(agent).into_iter().flatten() {
            if *begin < to && from < *end && tasks.iter().all(|known| known != task) {
                tasks.push((*task).to_owned());
            }
        }
        tasks
    }
}
