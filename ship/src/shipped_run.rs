//! The data of an ended run as it is shipped: the report and the verdicts, with the texts that may leave the machine.

use std::collections::HashMap;

use teamkeep_config::Config;
use teamkeep_history::report::{Report, ToolUser};
use teamkeep_history::timeline::{LoadedEvent, RunData, merge, project};
use teamkeep_model::paths;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::Result;

use crate::privacy::{IdentityKind, Texts};
use crate::rows::{
    self, AgentFacts, ClientCall, IncidentFacts, MessageFacts, Row, RowSink, RunFacts, RunKey, TaskFacts,
    ToolFacts, TurnFacts, VerdictFacts, day,
};
use crate::setup::Identity;

/// An ended run. Texts in it are dropped or redacted as configured.
#[derive(Debug)]
pub struct ShippedRun {
    pub key: RunKey,
    pub record: RunRecord,
    pub report: Report,
    /// The verdicts, in order.
    pub verdicts: Vec<VerdictFacts>,
    pub project: Option<String>,
    /// The hook calls in spans of Claude Code's own telemetry, by time.
    pub client_calls: Vec<ClientCall>,
    ended_at: Timestamp,
    /// Failed calls by agent and tool.
    failures: HashMap<(String, String), usize>,
}

fn client_call(event: &LoadedEvent) -> Option<ClientCall> {
    Some(ClientCall {
        span: event.traceparent.as_deref()?.clone(),
        at: event.at,
        session: event.session().map(str::to_owned),
        agent: event.who().map(str::to_owned),
    })
}

impl ShippedRun {
    pub fn of(data: &RunData, config: &Config, texts: &Texts, identity: &Identity) -> Result<ShippedRun> {
        let timeline = merge(data);
        // An ended run is judged by its end, so that the time of the shipment changes nothing.
        let ended_at = data.run.ended_at.unwrap_or_default();
        let report = Report::of(data, &timeline, config, ended_at);
        let mut failures: HashMap<(String, String), usize> = HashMap::new();
        for used in data.transcripts.uses.values().filter(|used| used.failure().is_some()) {
            *failures.entry((used.transcript.by.clone(), used.tool.clone())).or_default() += 1;
        }
        let project = project(data).map(|path| {
            // The pseudonym is of the whole path: projects of the same name differ.
            let named = if identity.pseudonyms.is_keyed() { path.as_str() } else { paths::name(&path) };
            identity.pseudonyms.of(IdentityKind::Project, named)
        });
        let mut client_calls: Vec<ClientCall> = data.events.iter().filter_map(client_call).collect();
        client_calls.sort_by_key(|call| call.at);
        Ok(ShippedRun {
            key: RunKey {
                run: data.run.run.clone(),
                revision: ended_at.millis(),
                team: data.run.team.clone(),
            },
            record: data.run.clone(),
            verdicts: VerdictFacts::of(&timeline.entries, texts),
            report: texts.report(report)?,
            project,
            client_calls,
            ended_at,
            failures,
        })
    }

    /// Passes the rows of all tables on. `runs` is the last one: a run that is there is complete.
    pub fn rows(&self, identity: &Identity, sink: &mut impl RowSink) -> Result<()> {
        let (report, day) = (&self.report, day(self.record.started_at));
        let agents: Vec<AgentFacts<'_>> = report.agents.iter().map(|agent| self.agent(agent)).collect();
        let tasks: Vec<TaskFacts<'_>> = (report.tasks.iter())
            .map(|task| TaskFacts {
                task,
                usage: report.spending.tasks.iter().find(|usage| usage.task == task.id),
            })
            .collect();
        let messages: Vec<MessageFacts<'_>> = (report.mail.messages.iter().enumerate())
            .map(|(number, message)| MessageFacts { number, message })
            .collect();
        let incidents: Vec<IncidentFacts<'_>> = (report.incidents.iter())
            .map(|incident| IncidentFacts {
                kind: incident.kind.name(),
                severity: incident.severity.name(),
                incident,
            })
            .collect();
        let tools: Vec<ToolFacts<'_>> =
            report.tools.by_agent.iter().flat_map(|user| self.tools_of(user)).collect();
        let turns = TurnFacts::of(&report.turns, &report.tasks, &self.client_calls, self.ended_at);
        let facts = RunFacts {
            report,
            user: identity.user.as_deref(),
            project: self.project.clone(),
            versions: report.overview.client_versions.join(", "),
        };
        sink.table(&rows::agents(), &day, self.row_of(&agents))?;
        sink.table(&rows::turns(), &day, self.row_of(&turns))?;
        sink.table(&rows::tasks(), &day, self.row_of(&tasks))?;
        sink.table(&rows::messages(), &day, self.row_of(&messages))?;
        sink.table(&rows::verdicts(), &day, self.row_of(&self.verdicts))?;
        sink.table(&rows::incidents(), &day, self.row_of(&incidents))?;
        sink.table(&rows::usage(), &day, self.row_of(&report.spending.agents))?;
        sink.table(&rows::tools(), &day, self.row_of(&tools))?;
        sink.table(&rows::runs(), &day, self.row_of(std::slice::from_ref(&facts)))
    }

    fn row_of<'a, T>(&'a self, items: &'a [T]) -> impl Iterator<Item = Row<'a, T>> {
        items.iter().map(|item| Row { key: &self.key, item })
    }

    fn agent<'a>(&'a self, agent: &'a teamkeep_history::report::Agent) -> AgentFacts<'a> {
        AgentFacts {
            agent,
            person: self.report.overview.members.iter().find(|person| person.name == agent.name),
            time: self.report.work.agents.iter().find(|time| time.agent == agent.name),
            ids: agent.instances.iter().map(|instance| instance.id.clone()).collect(),
        }
    }

    fn tools_of<'a>(&'a self, user: &'a ToolUser) -> impl Iterator<Item = ToolFacts<'a>> {
        user.tools.iter().map(move |(tool, calls)| {
            let failed = self.failures.get(&(user.agent.clone(), tool.clone())).copied().unwrap_or_default();
            ToolFacts { agent: &user.agent, tool, calls: *calls, failed: user.complete.then_some(failed) }
        })
    }
}
