//! The spending of a run's agents, for the gate `budget`.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::spent_log::{SpentLog, SpentMessages};
use teamkeep_config::Price;
use teamkeep_model::event::LEAD;
use teamkeep_model::team::MessageUsage;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::TeamState;
use teamkeep_policy::spending::{PriceList, PricedMessage, Spending};
use teamkeep_store::archive::{Archive, Interval, RunRecord};

/// An agent whose name is not known.
const UNKNOWN: &str = "unknown";

/// The messages of a run, before their agents are known, and the user's prices.
#[derive(Debug)]
pub struct RunSpending {
    run: RunRecord,
    spent: SpentMessages,
    prices: Vec<Price>,
}

impl RunSpending {
    /// Reads the run's transcripts as far as they are new. In metadata-only mode no transcript is read.
    pub(super) fn update(archive: &Archive, run: &str, prices: &[Price]) -> io::Result<Option<RunSpending>> {
        let cache = archive.cache_path(run, "spent.jsonl");
        let Some((record, cache)) = archive.run(run).zip(cache) else { return Ok(None) };
        let transcripts = archive.transcripts(&record);
        let spent = SpentLog::at(cache).update(&transcripts, record.created_at)?;
        Ok(Some(RunSpending { run: record, spent, prices: prices.to_vec() }))
    }

    /// Reads all of the run's transcripts, from the archive if Claude Code's are not longer, and stores nothing.
    pub fn read(archive: &Archive, run: &str, prices: &[Price]) -> Option<RunSpending> {
        let run = archive.run(run)?;
        let (all, _) = archive.runs();
        let spent = SpentMessages::of_recorded(archive, &run, &Interval::of(&run, &all));
        Some(RunSpending { run, spent, prices: prices.to_vec() })
    }

    /// The messages, all or until a moment, with their prices and the names of their agents.
    pub fn priced(&self, team: &TeamState, until: Option<Timestamp>) -> Spending {
        let mut prices = PriceList::of(&self.prices);
        let is_member = |name: &str| {
            name == LEAD
                || team.members.iter().any(|member| member == name)
                || team.ledger.members.contains_key(name)
                || team.ledger.live.member(name).is_some()
        };
        let ledger = &team.ledger;
        let by_hooks =
            |id: &str| ledger.agent_names.get(id).or_else(|| ledger.handles.get(id)).map(String::as_str);
        let mut owners: HashMap<&str, Arc<str>> = HashMap::new();
        for (path, read) in &self.spent.transcripts {
            let owner = self.run.owner_of(Path::new(path), &read.note, is_member, by_hooks);
            owners.insert(path, owner.unwrap_or(UNKNOWN).into());
        }
        let is_past = |message: &MessageUsage| until.zip(message.at).is_none_or(|(until, at)| at <= until);
        let messages = self.spent.messages.values().filter(|(_, message)| is_past(message));
        let task_of = |by: &str, at: Option<Timestamp>| {
            let held = team.ledger.live.held_at(by, at?);
            held.max_by_key(|(.., hold)| hold.from).map(|(id, ..)| id.into())
        };
        let priced = messages.map(|(path, message)| {
            let by = owners.get(&**path).cloned().unwrap_or_else(|| UNKNOWN.into());
            let at = message.at.map(|at| at.millis());
            let (tokens, usd) = (message.tokens, prices.cost(message));
            PricedMessage { task: task_of(&by, message.at), by, at, tokens, usd }
        });
        Spending { messages: priced.collect(), unread: self.spent.unread }
    }
}
