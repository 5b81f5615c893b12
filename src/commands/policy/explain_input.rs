//! The conditions under which `teamkeep policy explain` judges a payload: those of now, of a run's end, or of a recorded
//! event.

use std::collections::BTreeMap;
use std::time::Duration;
use teamkeep_model::words::FEW;

use super::PolicySource;
use crate::backtest::{self, Record, SnapshotCursor};
use crate::commands::catalog::{self, catalog};
use teamkeep_config::Price;
use teamkeep_history::{Range, Reader};
use teamkeep_hook::attribution::{self, CallContext};
use teamkeep_hook::enforcement::{
    GateState, GateStateStore, OverrideFile, RunSpending, SnapshotReader, run_of_session,
};
use teamkeep_model::compat::delivers_answers;
use teamkeep_model::event::{Actor, Recorded, SafeName};
use teamkeep_model::payload::Payload;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Guard, Judgement, Overrides, RecordedVerdict, TeamState, Verdict};
use teamkeep_store::archive::{Archive, Index, RunRecord};
use teamkeep_store::log::Logs;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

pub struct ExplainInput {
    /// The team, and how it was found.
    pub team: String,
    pub actor: Actor,
    pub actor_by: &'static str,
    pub state: TeamState,
    /// The team's run, if it has one.
    pub run: Option<String>,
    pub guard: Guard,
    pub as_of: Option<Timestamp>,
    pub overrides: Overrides,
}

fn team_by(name: Option<&str>, by: &str) -> String {
    format!("{} ({by})", name.unwrap_or("none"))
}

/// The counts of a run, or of a session without one.
fn gate_state(context: &Context, run: Option<&str>, session: Option<&SafeName>) -> GateState {
    let log = Logs::of(&context.paths).of_call(run, session);
    GateStateStore::new(log.dir().to_owned(), Duration::ZERO).read()
}

impl ExplainInput {
    fn new(context: &Context, team: String, (actor, actor_by): (Actor, &'static str)) -> ExplainInput {
        ExplainInput {
            team,
            actor,
            actor_by,
            state: TeamState::default(),
            run: None,
            guard: Guard::default(),
            as_of: None,
            overrides: OverrideFile::new(&context.paths.store, Duration::ZERO)
                .read_active(context.clock.now()),
        }
    }

    /// The conditions of a hook call now, except that the team's files are the last snapshots.
    pub fn now(context: &Context, call: &CallContext<'_>) -> ExplainInput {
        let archive = catalog::archive(context);
        let indexes = candidate_indexes(call, &archive);
        let (resolved, by) = attribution::team(call, &indexes);
        let index = resolved.team.as_ref().and_then(|team| indexes.get(team));
        let session = call.payload.session();
        let own = session.and_then(SafeName::stem);
        let run = (index.and_then(|index| SafeName::new(&index.run)))
            .or_else(|| run_of_session(&archive, own.as_ref()?));
        let gate_state = gate_state(context, run.as_ref().map(SafeName::as_str), own.as_ref());
        let GateState { ledger, guard, .. } = gate_state;
        let name = resolved.team.as_ref().map(SafeName::as_str);
        let actor = attribution::actor(call, index, resolved.name.as_deref());
        let reader = SnapshotReader { archive: &archive, client: None, live_first: false, until: None };
        let delivers_answers = delivers_answers(attribution::version(call).as_deref());
        ExplainInput {
            state: TeamState { ledger, delivers_answers, ..reader.team((name, session), index) },
            run: index.map(|index| index.run.clone()),
            guard,
            as_of: index.map(|index| index.at),
            ..ExplainInput::new(context, team_by(name, by), actor)
        }
    }

    /// Adds the spending of the run until now.
    pub fn read_spending(&mut self, context: &Context) {
        let Some(run) = &self.run else { return };
        let recorded = RunSpending::read(&catalog::archive(context), run, &context.config.report.price);
        let spending = recorded.map(|recorded| recorded.priced(&self.state, Some(context.clock.now())));
        self.state.spending = spending.unwrap_or_default();
    }

    /// The conditions after the last event of a run, with its files from when its directory last existed.
    pub fn of_run(context: &Context, call: &CallContext<'_>, run: &str) -> Result<ExplainInput> {
        let catalog = catalog(context)?;
        let run = catalog::find(&catalog, run)?;
        let (records, _) = backtest::records(&catalog.logs, &catalog.archive, Some(&[run]))?;
        let index = run.subject().and_then(|subject| catalog.archive.index(&subject));
        let actor = attribution::actor(call, index.as_ref(), call.state.name.as_deref());
        let team = team_by(run.team.as_deref(), "of the run");
        let mut input = ExplainInput::new(context, team, actor);
        if let Some(record) = records.first() {
            let lead = run.lead_session.clone();
            let mut past =
                SnapshotCursor::new(&catalog.archive, &record.journal, run.team.as_deref(), lead.clone());
            for event in &record.events {
                past.use_list(event.session.as_deref(), event.task_list.as_deref());
            }
            let last_of_lead = record.events.iter().rev().find(|event| event.session == lead);
            past.use_list(lead.as_deref(), last_of_lead.and_then(|event| event.task_list.as_deref()));
            past.team.delivers_answers = record.delivers_answers;
            past.go_to_the_end();
            past.open();
            for recorded in &record.events {
                let payload = Payload::from_raw(&recorded.payload);
                let judgement = Judgement { blocked: record.was_blocked(recorded), ..Judgement::default() };
                past.team.apply(&backtest::judged_event(recorded, &payload), &judgement);
            }
            input.as_of = record.events.last().map(|event| event.at);
            input.state = past.team;
            input.run = Some(run.run.clone());
        }
        let stored = gate_state(context, Some(&run.run), None);
        input.guard = stored.guard;
        // The log does not have the name of an agent whose shutdown a gate allowed.
        for (name, member) in &mut input.state.ledger.members {
            member.shutdown_permitted = stored.ledger.of(name).shutdown_permitted;
        }
        input.state.ledger.live.tasks = stored.ledger.live.tasks;
        input.state.ledger.agent_names = stored.ledger.agent_names;
        Ok(input)
    }
}

/// The last snapshots of the teams that a call may concern.
fn candidate_indexes(call: &CallContext<'_>, archive: &Archive) -> BTreeMap<SafeName, Index> {
    let subjects = attribution::candidate_teams(call, archive).subjects;
    let indexes = subjects.iter().filter_map(|subject| {
        let (_, index) = archive.locate(subject, call.client)?;
        Some((subject.team()?.clone(), index?))
    });
    indexes.collect()
}

pub struct RecordedEvent {
    archive: Archive,
    record: Record,
    position: usize,
    pub event: Recorded,
}

impl RecordedEvent {
    /// Finds an event by its id, a unique prefix of it, or the id of its verdict.
    pub fn find(context: &Context, id: &str) -> Result<RecordedEvent> {
        let catalog = catalog(context)?;
        let mut matches: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut add = |recorded: &Recorded| {
            let verdict = recorded.verdict.as_ref().and_then(|verdict| RecordedVerdict::read(verdict));
            let of = verdict.map_or_else(|| recorded.id.clone(), |verdict| verdict.of);
            if recorded.id.starts_with(id) || of.starts_with(id) {
                matches.insert(of, recorded.run.clone().or_else(|| recorded.session.clone()));
            }
        };
        Reader::of(&catalog.logs.all()?, Range::default()).for_each(|line| add(&line.recorded));
        if matches.contains_key(id) {
            matches.retain(|of, _| of == id);
        }
        let (of, run) = match matches.first_key_value() {
            Some(first) if !id.is_empty() && matches.len() == 1 => first,
            Some(_) if !id.is_empty() => {
                let ids: Vec<&str> = matches.keys().take(FEW).map(String::as_str).collect();
                let more = if matches.len() > FEW { ", …" } else { "" };
                let why = format!("{} events match: {}{more}", matches.len(), ids.join(", "));
                return Err(Error::caused(format!("ambiguous event ID {id:?}"), why));
            }
            _ => {
                let error = Error::not_found(format!("no event matches {id:?}"));
                return Err(error.hint("to list events with their IDs: teamkeep log --raw --json"));
            }
        };
        let runs: Vec<&RunRecord> =
            catalog.runs.iter().filter(|other| Some(&other.run) == run.as_ref()).collect();
        let wanted = (!runs.is_empty()).then_some(runs.as_slice());
        let (records, problems) = backtest::records(&catalog.logs, &catalog.archive, wanted)?;
        catalog::warn_unreadable(context, &problems);
        let found = records.into_iter().find_map(|record| {
            let position = record.events.iter().position(|event| event.id == *of)?;
            Some((record.events[position].clone(), position, record))
        });
        let (event, position, record) =
            found.ok_or_else(|| Error::not_found(format!("the event {of} is no longer recorded")))?;
        Ok(RecordedEvent { archive: catalog.archive, record, position, event })
    }

    /// The conditions at the time of the event. Pauses and allowances of that time are not known.
    pub fn input(&mut self, prices: &[Price], source: &PolicySource) -> ExplainInput {
        self.record.read_spending(&self.archive, &[&source.policy], prices);
        let RecordedEvent { archive, record, position, event } = self;
        let (state, guard) = backtest::before(archive, record, &source.policy, &source.rules, *position);
        ExplainInput {
            team: team_by(event.team.as_deref(), "recorded"),
            actor: event.actor.clone(),
            actor_by: "recorded",
            state,
            run: Some(record.run.clone()),
            guard,
            as_of: Some(event.at),
            overrides: Overrides::default(),
        }
    }

    pub fn verdicts(&self) -> &[Verdict] {
        self.record.verdicts.get(&self.event.id).map(Vec::as_slice).unwrap_or_default()
    }
}
