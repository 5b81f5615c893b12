//! The input of an export: one ended run, and the machine and user that ship it.

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource as OtlpResource;
use teamkeep::report::{Report, Turn};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::Attributes;
use super::ids::{Item, ItemId, RunIds};
use super::names;
use super::turns::TurnSpan;
use super::{Privacy, TraceParent, VerdictRow};

/// Who ships: the same for all data of a process.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    pub organization: &'a str,
    pub host: &'a str,
    pub user: Option<&'a str>,
    pub service_version: &'a str,
}

impl Resource<'_> {
    pub(super) fn to_otlp(self) -> OtlpResource {
        let attributes = Attributes::default()
            .text(names::SERVICE_NAME, "teamkeep")
            .text(names::SERVICE_VERSION, self.service_version)
            .text(names::HOST_NAME, self.host)
            .maybe(names::USER_ID, self.user)
            .text(names::ORGANIZATION, self.organization);
        OtlpResource { attributes: attributes.into_list(), ..OtlpResource::default() }
    }

    pub(super) fn scope(self) -> InstrumentationScope {
        let (name, version) = ("teamkeep".to_owned(), self.service_version.to_owned());
        InstrumentationScope { name, version, ..InstrumentationScope::default() }
    }
}

/// An ended run. The privacy level has already been applied to the texts.
#[derive(Debug, Clone, Copy)]
pub struct RunExport<'a> {
    pub run: &'a RunRecord,
    pub report: &'a Report,
    pub verdicts: &'a [VerdictRow],
    /// The spans of Claude Code in which the run's hooks were called, in the order of the calls.
    pub links: &'a [TraceParent],
    /// The end of the run in milliseconds.
    pub revision: i64,
    /// The revision that was sent before. Items that had ended by then are left out.
    pub previous: Option<i64>,
    pub privacy: Privacy,
}

impl RunExport<'_> {
    /// Whether something that ended at that time was not sent before.
    pub(super) fn is_new(&self, end: Timestamp) -> bool {
        self.previous.is_none_or(|previous| end.millis() > previous)
    }

    /// A text, if texts are sent and it is not empty.
    pub(super) fn text<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(text).filter(|text| self.privacy.has_texts() && !text.trim().is_empty())
    }

    /// The moment of the run's end, which is the end of all that has no recorded end.
    pub(super) fn end(&self) -> Timestamp {
        let revision = Timestamp::from_millis(self.revision).unwrap_or_default();
        revision.max(self.report.overview.started_at)
    }
}

/// The ids of a run's items, and the attributes that all of them have.
#[derive(Debug)]
pub(super) struct RunContext<'a> {
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
pub(super) fn turn_times(turn: &Turn, end: Timestamp) -> (Timestamp, Timestamp) {
    let to = turn.to.unwrap_or(end);
    let from = turn.from.unwrap_or(to);
    (from.min(to), to)
}

/// An agent's name without its team.
pub(super) fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}
