//! The recorded data of one run that a policy needs.

use std::collections::HashMap;
use std::io;

use teamkeep_config::{Gate, Mode, Policy, Price};
use teamkeep_history::{Range, ReadErrors, Reader};
use teamkeep_hook::attribution::version_in;
use teamkeep_hook::enforcement::RunSpending;
use teamkeep_model::compat::delivers_answers;
use teamkeep_model::event::Recorded;
use teamkeep_policy::{Decision, Finding, Reason, RecordedVerdict, Verdict, failure};
use teamkeep_store::archive::{Archive, Journal, RunRecord};
use teamkeep_store::log::Logs;

#[derive(Debug, Default)]
pub struct Record {
    /// The run, or the session for events outside a run.
    pub run: String,
    pub team: Option<String>,
    /// Claude Code's events, by time.
    pub events: Vec<Recorded>,
    /// The verdicts of that time, by event id.
    pub verdicts: HashMap<String, Vec<Verdict>>,
    pub journal: Journal,
    /// Whether Claude Code delivers the final text of a teammate's turn to the lead.
    pub delivers_answers: bool,
    /// The spending of its agents, if a policy needs it.
    pub spending: Option<RunSpending>,
}

/// Reads the logs of the wanted runs, or all, and returns the data of each, ordered by first event. An event outside a run belongs
/// to its session, as for the gatekeeper.
///
/// # Errors
/// The directories of the logs cannot be listed.
pub fn records(
    logs: &Logs,
    archive: &Archive,
    wanted: Option<&[&RunRecord]>,
) -> io::Result<(Vec<Record>, ReadErrors)> {
    let logs = match wanted {
        Some(runs) => runs.iter().filter_map(|run| logs.run(&run.run)).collect(),
        None => logs.all()?,
    };
    let is_wanted = |key: &str| wanted.is_none_or(|runs| runs.iter().any(|run| run.run == key));
    let (all, _) = archive.runs();
    let mut reader = Reader::of(&logs, Range::default());
    let mut records: Vec<Record> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut add = |recorded: Recorded| {
        let Some(key) = counted_under(&recorded) else { return };
        if !is_wanted(key) {
            return;
        }
        let index = *indexes.entry(key.clone()).or_insert_with(|| {
            let journal = recorded.run.as_ref().map(|run| archive.journal(run)).unwrap_or_default();
            let run = all.iter().find(|run| run.run == *key);
            let version = run.and_then(|run| client_version(archive, run));
            let delivers_answers = delivers_answers(version.as_deref());
            records.push(Record { run: key.clone(), journal, delivers_answers, ..Record::default() });
            records.len() - 1
        });
        if let Some(record) = records.get_mut(index) {
            record.add(recorded);
        }
    };
    reader.by_ref().for_each(|line| add(line.recorded));
    for record in &mut records {
        // Stable sort: calls of the same moment stay in the order of the log.
        record.events.sort_by_key(|one| one.at);
    }
    Ok((records, reader.problems))
}

impl Record {
    fn add(&mut self, recorded: Recorded) {
        if recorded.verdict.is_some() {
            self.add_verdict(&recorded);
            return;
        }
        if self.team.is_none() {
            self.team.clone_from(&recorded.team);
        }
        self.events.push(recorded);
    }

    /// Adds the verdict on a log line. A failure of the policy that blocked nothing is not one.
    fn add_verdict(&mut self, recorded: &Recorded) {
        let Some(RecordedVerdict { verdict, of }) =
            recorded.verdict.as_deref().and_then(RecordedVerdict::read)
        else {
            return;
        };
        if verdict.gate != failure::GATE || verdict.decision == Decision::Block {
            self.verdicts.entry(of).or_default().push(verdict);
        }
    }

    /// Reads the spending of the agents, if one of the policies needs it.
    pub fn read_spending(&mut self, archive: &Archive, policies: &[&Policy], prices: &[Price]) {
        if policies.iter().any(|policy| policy.budget.is_on()) {
            self.spending = RunSpending::read(archive, &self.run, prices);
        }
    }

    /// The team's name, else the run's id.
    pub fn name(&self) -> &str {
        self.team.as_deref().unwrap_or(&self.run)
    }

    /// The findings of the gates for shared files at that time, as far as the policy has these gates. They depend on the files
    /// and on git, which are not recorded.
    pub fn findings(&self, recorded: &Recorded, policy: &Policy) -> Vec<Finding> {
        let verdicts = self.verdicts.get(&recorded.id).into_iter().flatten();
        let finding = |verdict: &Verdict| {
            let gate = Gate::named(&verdict.gate).filter(|gate| gate.guards_files())?;
            let mode = gate.mode(policy).filter(|mode| *mode != Mode::Off)?;
            let reason = Reason::default().then(&verdict.reason).instead(&verdict.advice);
            Some(Finding::new(gate, "recorded", mode.into(), recorded.actor.shown(), reason))
        };
        verdicts.filter_map(finding).collect()
    }

    /// Whether the event was blocked at that time.
    pub fn was_blocked(&self, recorded: &Recorded) -> bool {
        let verdicts = self.verdicts.get(&recorded.id);
        verdicts.into_iter().flatten().any(|verdict| verdict.decision == Decision::Block)
    }
}

/// The version of Claude Code at the start of a run.
fn client_version(archive: &Archive, run: &RunRecord) -> Option<String> {
    archive
        .longest_transcripts(run)
        .iter()
        .filter(|(path, _)| path.ends_with(".jsonl"))
        .find_map(|(path, stored)| version_in(archive.open_transcript(&run.run, path, stored.as_ref()).ok()?))
}

/// The run or, outside a run, the session under which an event is counted, as at the hook call. The timeline instead
/// assigns the events of a session from before its run to the run.
fn counted_under(recorded: &Recorded) -> Option<&String> {
    recorded.run.as_ref().or(recorded.session.as_ref())
}
