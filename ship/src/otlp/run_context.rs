//! The parts that all data of a run share: ids, attributes, and the times of turns.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use teamkeep::report::Turn;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::{Attributes, nanos};
use super::ids::{Item, ItemId, ItemIds, RunIds};
use super::{Resource, RunExport, names};

/// Flags of a span of teamkeep: sampled, and its parent is of the same process.
pub const SAMPLED: u32 = 0x101;

/// The ids of a run's items, and the attributes that all of them have.
#[derive(Debug)]
pub struct RunContext<'a> {
    pub export: &'a RunExport<'a>,
    pub ids: RunIds,
    pub user: Option<&'a str>,
    pub turns: Vec<TurnSpan<'a>>,
}

impl<'a> RunContext<'a> {
    pub fn new(resource: &Resource<'a>, export: &'a RunExport<'a>) -> RunContext<'a> {
        let ids = RunIds::new(resource.organization, &export.run.run);
        let turns = TurnSpan::of_run(&ids, export);
        RunContext { export, ids, user: resource.user, turns }
    }

    /// A span without a parent, name and attributes.
    pub fn span(&self, id: ItemId, (from, to): (Timestamp, Timestamp)) -> Span {
        Span {
            trace_id: self.ids.trace(),
            span_id: id.bytes(),
            flags: SAMPLED,
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: nanos(from),
            end_time_unix_nano: nanos(to.max(from)),
            ..Span::default()
        }
    }

    pub fn run_span(&self) -> ItemId {
        self.ids.item(Item::Run, &[])
    }

    pub fn agent_span(&self, agent: &str) -> ItemId {
        self.ids.item(Item::Agent, &[agent])
    }

    pub fn task_span(&self, task: &str) -> ItemId {
        self.ids.item(Item::Task, &[task])
    }

    /// The span to which something that an agent did at that time belongs: its turn, else the run.
    pub fn span_at(&self, agent: &str, at: Timestamp) -> ItemId {
        let mut turns = self.turns.iter().rev();
        turns.find(|turn| turn.includes(agent, at)).map_or_else(|| self.run_span(), |turn| turn.id)
    }

    /// The name that an agent gave: of a recipient, or of the owner of a task. In metadata mode one that no agent has becomes
    /// `unknown`, so that no sentence is sent in place of a name.
    pub fn name<'t>(&self, name: &'t str) -> &'t str {
        let (name, report) = (bare(name), self.export.report);
        let is_known = || {
            let members = report.overview.members.iter().map(|member| &member.name);
            members.chain(report.agents.iter().map(|agent| &agent.name)).any(|known| known == name)
        };
        match self.export.privacy.has_texts() || name == "*" || is_known() {
            true => name,
            false => "unknown",
        }
    }

    /// The attributes of everything in the run.
    pub fn run_attributes(&self) -> Attributes {
        let overview = &self.export.report.overview;
        Attributes::default()
            .text(names::RUN_ID, &self.export.run.run)
            .maybe(names::TEAM, overview.team.as_ref())
    }

    /// The attributes of everything in the run that belongs to a conversation.
    pub fn conversation_attributes(&self) -> Attributes {
        let session = self.export.report.overview.lead_session.as_ref();
        self.run_attributes().maybe(names::CONVERSATION_ID, session)
    }
}

/// When a turn began and ended; the end of the run if no end is recorded.
pub fn turn_times(turn: &Turn, end: Timestamp) -> (Timestamp, Timestamp) {
    let to = turn.to.unwrap_or(end);
    let from = turn.from.unwrap_or(to);
    (from.min(to), to)
}

/// An agent's name without its team.
pub fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// A turn with its id and times.
#[derive(Debug)]
pub struct TurnSpan<'a> {
    pub turn: &'a Turn,
    pub id: ItemId,
    pub from: Timestamp,
    pub to: Timestamp,
}

impl<'a> TurnSpan<'a> {
    pub fn of_run(ids: &RunIds, export: &RunExport<'a>) -> Vec<TurnSpan<'a>> {
        let end = export.end();
        let mut items = ItemIds::new(ids, Item::Turn);
        let mut span = |turn: &'a Turn| {
            let (from, to) = turn_times(turn, end);
            let began = turn.from.or(turn.to).unwrap_or_default().millis().to_string();
            let id = items.next(&[&turn.agent, turn.instance.as_deref().unwrap_or_default(), &began]);
            TurnSpan { turn, id, from, to }
        };
        export.report.turns.iter().map(&mut span).collect()
    }

    pub fn agent(&self) -> &str {
        &self.turn.agent
    }

    pub fn times(&self) -> (Timestamp, Timestamp) {
        (self.from, self.to)
    }

    /// Whether the agent did something at that time in this turn.
    pub fn includes(&self, agent: &str, at: Timestamp) -> bool {
        self.turn.agent == agent && self.from <= at && at <= self.to
    }
}
